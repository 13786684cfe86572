package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestSplitIDs(t *testing.T) {
	for in, want := range map[string][]string{
		"":                              nil,
		"1":                             {"1"},
		"1,2":                           {"1", "2"},
		"1,,2,":                         {"1", "", "2", ""},
		`["a","b"]`:                     {`["a","b"]`},
		`["a","b"],7,["c,]","d"]`:       {`["a","b"]`, "7", `["c,]","d"]`},
		`["a\",","b"],["\\"],1`:         {`["a\",","b"]`, `["\\"]`, "1"},
		`[1,[2,3]],4`:                   {`[1,[2,3]]`, "4"},
		`a[1,b]`:                        {"a[1", "b]"},
		`"a,b"`:                         {`"a`, `b"`},
		`["a,b`:                         {`["a,b`},
		`["a\`:                          {`["a\`},
		`~WyJhIiwiYiJd,["a","b"]` + "]": {"~WyJhIiwiYiJd", `["a","b"]]`},
	} {
		if got := splitIDs(in); !slices.Equal(got, want) {
			t.Errorf("splitIDs(%s) = %q, want %q", in, got, want)
		}
	}
}

// FuzzSplitIDs: nothing gets lost, and a list of plain ids is split at every
// comma.
func FuzzSplitIDs(f *testing.F) {
	for _, s := range []string{"1,2", `["a","b"],7`, `["a\",`, "]][[", ","} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		ids := splitIDs(list)
		if strings.Join(ids, ",") != list {
			t.Errorf("%q is split into %q", list, ids)
		}
		if !strings.Contains(list, "[") && len(ids) > 1 && len(ids) != strings.Count(list, ",")+1 {
			t.Errorf("%q has the ids %q", list, ids)
		}
	})
}
