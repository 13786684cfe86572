package approval

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

const digest = "d1"

func yes(person string, ago time.Duration) Decision {
	return Decision{Person: person, Yes: true, Digest: digest, Proof: "none", At: now.Add(-ago)}
}

func no(person string) Decision {
	return Decision{Person: person, Digest: digest, Proof: "none", At: now}
}

func of(d Decision, digest string) Decision {
	d.Digest = digest
	return d
}

func TestMay(t *testing.T) {
	for name, c := range map[string]struct {
		need      Need
		principal string
		person    string
		want      bool
	}{
		"anybody":                        {Need{}, "luis", "ana", true},
		"anybody, who asked":             {Need{Separation: "agent"}, "luis", "luis", true},
		"anybody but who asked":          {Need{Separation: "person"}, "luis", "luis", false},
		"somebody else":                  {Need{Separation: "person"}, "luis", "ana", true},
		"a named person":                 {Need{People: []string{"ana", "luis"}}, "luis", "ana", true},
		"a named person who asked":       {Need{People: []string{"ana", "luis"}, Separation: "person"}, "luis", "luis", false},
		"nobody of the list":             {Need{People: []string{"ana"}}, "luis", "eve", false},
		"an empty list is nobody":        {Need{People: []string{}}, "luis", "ana", false},
		"no name":                        {Need{}, "luis", "", false},
		"no name, and nobody asked":      {Need{Separation: "agent"}, "", "", false},
		"another spelling":               {Need{People: []string{"ana"}}, "luis", "Ana", false},
		"nobody asked, separated people": {Need{Separation: "person"}, "", "ana", true},
	} {
		if got := May(c.need, Request{Digest: digest, Principal: c.principal}, c.person); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestJudge(t *testing.T) {
	two := Need{People: []string{"ana", "luis", "eve"}, From: "oncall", Count: 2, ValidFor: time.Hour}
	for name, c := range map[string]struct {
		need             Need
		said             []Decision
		approved, denied bool
		by               string
	}{
		"nothing said":                {Need{}, nil, false, false, ""},
		"one of one":                  {Need{}, []Decision{yes("ana", 0)}, true, false, "ana"},
		"a count of zero is one":      {Need{Count: 0}, nil, false, false, ""},
		"a negative count is one":     {Need{Count: -3}, nil, false, false, ""},
		"one of two":                  {two, []Decision{yes("ana", 0)}, false, false, "ana"},
		"two of two":                  {two, []Decision{yes("ana", 0), yes("luis", 0)}, true, false, "ana luis"},
		"one person twice":            {two, []Decision{yes("ana", 0), yes("ana", time.Minute)}, false, false, "ana"},
		"a stranger":                  {two, []Decision{yes("ana", 0), yes("mallory", 0)}, false, false, "ana"},
		"expired":                     {two, []Decision{yes("ana", 0), yes("luis", time.Hour+1)}, false, false, "ana"},
		"on the edge":                 {two, []Decision{yes("ana", time.Hour), yes("luis", 0)}, true, false, "ana luis"},
		"said again after expiry":     {two, []Decision{yes("ana", 2*time.Hour), yes("ana", 0), yes("luis", 0)}, true, false, "ana luis"},
		"valid for ever":              {Need{}, []Decision{yes("ana", 1000*time.Hour)}, true, false, "ana"},
		"another digest":              {Need{}, []Decision{of(yes("ana", 0), "d2")}, false, false, ""},
		"a denial of another digest":  {Need{}, []Decision{of(no("luis"), "d2"), yes("ana", 0)}, true, false, "ana"},
		"a denial":                    {two, []Decision{no("eve")}, false, true, "eve"},
		"a denial last":               {two, []Decision{yes("ana", 0), yes("luis", 0), no("eve")}, false, true, "eve"},
		"a denial first":              {two, []Decision{no("eve"), yes("ana", 0), yes("luis", 0)}, false, true, "eve"},
		"a stranger's denial":         {two, []Decision{yes("ana", 0), yes("luis", 0), no("mallory")}, true, false, "ana luis"},
		"a change of mind to no":      {Need{}, []Decision{yes("ana", 0), no("ana")}, false, true, "ana"},
		"a change of mind to yes":     {Need{}, []Decision{no("ana"), yes("ana", 0)}, false, true, "ana"},
		"a denial never expires":      {two, []Decision{{Person: "eve", Digest: digest, At: now.Add(-48 * time.Hour)}}, false, true, "eve"},
		"who asked takes it back":     {Need{Separation: "person"}, []Decision{yes("ana", 0), no("luis")}, false, true, "luis"},
		"a denial without a name":     {Need{}, []Decision{yes("ana", 0), no("")}, true, false, "ana"},
		"who asked, of others":        {two, []Decision{yes("ana", 0), yes("eve", 0), no("dora")}, false, true, "dora"},
		"who asked, separated people": {Need{Separation: "person"}, []Decision{yes("luis", 0)}, false, false, ""},
	} {
		asked := "luis"
		if strings.HasSuffix(name, "of others") {
			asked = "dora"
		}
		v := Judge(c.need, Request{Digest: digest, Principal: asked}, c.said, now)
		if v.Approved != c.approved || v.Denied != c.denied || strings.Join(v.By, " ") != c.by {
			t.Errorf("%s: %+v", name, v)
		}
		if (v.Missing == "") != v.Approved {
			t.Errorf("%s: approved %v, missing %q", name, v.Approved, v.Missing)
		}
	}
}

func TestMissingNamesWho(t *testing.T) {
	r := Request{Digest: digest}
	for want, need := range map[string]Need{
		"0 of 2 approvals that are valid now, from oncall (ana, luis)": {Count: 2, From: "oncall", People: []string{"ana", "luis"}},
		"0 of 1 approvals that are valid now, from anybody":            {},
	} {
		if got := Judge(need, r, nil, now).Missing; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestStricter(t *testing.T) {
	ab, bc := Need{People: []string{"a", "b"}, From: "ab"}, Need{People: []string{"b", "c"}, From: "bc"}
	for name, c := range map[string]struct {
		a, b Need
		want string
	}{
		"both anybody":         {Need{}, Need{}, "[] nil 0 0s"},
		"anybody and some":     {Need{}, ab, "[a b] ab 0 0s"},
		"some and anybody":     {ab, Need{}, "[a b] ab 0 0s"},
		"who is in both":       {ab, bc, "[b] bc 0 0s"},
		"disjoint is nobody":   {Need{People: []string{"a"}}, Need{People: []string{"c"}, From: "c"}, "[] c 0 0s"},
		"nobody stays nobody":  {Need{People: []string{}, From: "none"}, ab, "[] none 0 0s"},
		"and the other way":    {ab, Need{People: []string{}, From: "none"}, "[] none 0 0s"},
		"larger count":         {Need{Count: 1}, Need{Count: 3}, "[] nil 3 0s"},
		"shorter validity":     {Need{ValidFor: time.Hour}, Need{ValidFor: time.Minute}, "[] nil 0 1m0s"},
		"for ever and an hour": {Need{}, Need{ValidFor: time.Hour}, "[] nil 0 1h0m0s"},
		"an hour and for ever": {Need{ValidFor: time.Hour}, Need{}, "[] nil 0 1h0m0s"},
	} {
		got := Stricter(c.a, c.b)
		from := got.From
		if got.People == nil {
			from = "nil"
		}
		if s := fmt.Sprintf("%v %s %d %v", got.People, from, got.Count, got.ValidFor); s != c.want {
			t.Errorf("%s: %s, want %s", name, s, c.want)
		}
	}
	for _, pair := range [][3]string{{"agent", "agent", "agent"}, {"agent", "person", "person"}, {"person", "agent", "person"}, {"", "person", "person"}, {"person", "", "person"}} {
		if got := Stricter(Need{Separation: pair[0]}, Need{Separation: pair[1]}).Separation; got != pair[2] {
			t.Errorf("separation %s and %s: %s", pair[0], pair[1], got)
		}
	}
}

// An approval with a weaker proof than is asked, or with one that nobody knows,
// does not count; a denial does.
func TestProof(t *testing.T) {
	all := []string{"", "none", "key", "touch", "pin", "seal"}
	strength := map[string]int{"": 1, "none": 1, "key": 2, "touch": 3, "pin": 4}
	for _, asked := range all {
		for _, given := range all {
			d := yes("ana", 0)
			d.Proof = given
			v := Judge(Need{Proof: asked}, Request{Digest: digest}, []Decision{d}, now)
			if want := strength[asked] > 0 && strength[given] >= strength[asked]; v.Approved != want {
				t.Errorf("asked %q, given %q: %+v", asked, given, v)
			}
			d.Yes = false
			if v := Judge(Need{Proof: asked}, Request{Digest: digest}, []Decision{d}, now); !v.Denied {
				t.Errorf("asked %q: a denial with %q does not count", asked, given)
			}
			d.Yes = true
			for _, n := range []Need{Stricter(Need{Proof: asked}, Need{Proof: "key"}), Stricter(Need{Proof: "key"}, Need{Proof: asked})} {
				if v := Judge(n, Request{Digest: digest}, []Decision{d}, now); v.Approved && (strength[given] < 2 || strength[asked] == 0) {
					t.Errorf("key and %q are approved by %q", asked, given)
				}
			}
		}
	}
	if got := Judge(Need{Proof: "pin"}, Request{}, nil, now).Missing; got != `0 of 1 approvals that are valid now, from anybody, with a proof of "pin"` {
		t.Error(got)
	}
}

// A small random world: few people and digests, so that collisions are common.
type world struct{ *rand.Rand }

func (w world) need() Need {
	n := Need{Count: w.IntN(4), Proof: []string{"", "none", "key"}[w.IntN(3)], ValidFor: time.Duration(w.IntN(3)) * time.Hour, Separation: []string{"", "agent", "person"}[w.IntN(3)]}
	switch w.IntN(4) {
	case 0: // anybody
	case 1:
		n.People = []string{}
	default:
		n.People = w.people()
	}
	return n
}

func (w world) people() []string {
	all := []string{"a", "b", "c", "d"}
	w.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+w.IntN(4)]
}

func (w world) decisions() []Decision {
	ds := make([]Decision, w.IntN(7))
	for i := range ds {
		ds[i] = Decision{Person: w.people()[0], Yes: w.IntN(6) > 0, Proof: []string{"none", "key", "key"}[w.IntN(3)], Digest: []string{digest, digest, digest, "d2"}[w.IntN(4)],
			At: now.Add(-time.Duration(w.IntN(4)) * time.Hour)}
	}
	return ds
}

func TestProperties(t *testing.T) {
	w := world{rand.New(rand.NewPCG(1, 2))}
	approvals := 0
	for range 20_000 {
		a, b, c, ds := w.need(), w.need(), w.need(), w.decisions()
		r := Request{Digest: digest, Principal: []string{"", "a", "b"}[w.IntN(3)]}
		judge := func(n Need, ds []Decision) Verdict { return Judge(n, r, ds, now) }
		v := judge(a, ds)
		if v.Approved {
			approvals++
		}
		if v.Approved && v.Denied {
			t.Fatalf("approved and denied: %+v", v)
		}

		shuffled := slices.Clone(ds)
		w.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if u := judge(a, shuffled); u.Approved != v.Approved || u.Denied != v.Denied {
			t.Fatalf("the order matters: %+v of %+v, %+v of %+v, need %+v", v, ds, u, shuffled, a)
		}
		denied := append(slices.Clone(ds), Decision{Person: w.people()[0], Digest: digest, At: now})
		if !v.Approved && judge(a, denied).Approved {
			t.Fatalf("a denial approves: %+v, need %+v", denied, a)
		}
		if u := judge(a, denied); MayDeny(a, r, denied[len(ds)].Person) && !u.Denied {
			t.Fatalf("a denial is lost: %+v, need %+v", denied, a)
		}
		strict := judge(Stricter(a, b), ds).Approved
		if strict && !(v.Approved && judge(b, ds).Approved) {
			t.Fatalf("stricter approves more: %+v and %+v, said %+v", a, b, ds)
		}
		if other := judge(Stricter(b, a), ds).Approved; other != strict {
			t.Fatalf("the order of needs matters: %+v and %+v, said %+v", a, b, ds)
		}
		if judge(Stricter(Stricter(a, b), c), ds).Approved && !judge(c, ds).Approved || judge(Stricter(Stricter(a, b), c), ds).Approved && !strict {
			t.Fatalf("the stricter of three approves more: %+v, %+v, %+v, said %+v", a, b, c, ds)
		}
		foreign := slices.DeleteFunc(slices.Clone(ds), func(d Decision) bool { return d.Digest != digest })
		if u := judge(a, foreign); u.Approved != v.Approved || u.Denied != v.Denied {
			t.Fatalf("decisions about another digest count: %+v", ds)
		}
		twice := judge(a, append(slices.Clone(ds), ds...))
		if twice.Approved != v.Approved || len(twice.By) != len(v.By) {
			t.Fatalf("a person counts twice: %+v, need %+v", ds, a)
		}
		if later := Judge(a, r, ds, now.Add(24*time.Hour)).Approved; later && !v.Approved {
			t.Fatalf("waiting approves: %+v, need %+v", ds, a)
		}
	}
	if approvals < 500 {
		t.Errorf("only %d worlds were approved: the properties were hardly tried", approvals)
	}
}

// A change of the policy does not silence a denial that was given before it.
func TestStricterHearsTheDenialsOfBoth(t *testing.T) {
	then, today := Need{People: []string{"ana", "luis"}}, Need{People: []string{"luis", "eve"}}
	for name, c := range map[string]struct {
		need Need
		by   string
		want bool
	}{
		"of then":            {Stricter(then, today), "ana", true},
		"of today":           {Stricter(then, today), "eve", true},
		"of neither":         {Stricter(then, today), "mallory", false},
		"of then, two steps": {Stricter(Stricter(then, today), Need{People: []string{"luis"}}), "ana", true},
		"of anybody":         {Stricter(Need{}, today), "mallory", true},
		"of today alone":     {today, "ana", false},
	} {
		v := Judge(c.need, Request{Digest: digest}, []Decision{yes("luis", 0), no(c.by)}, now)
		if v.Denied != c.want || v.Approved == c.want {
			t.Errorf("a denial %s: %+v", name, v)
		}
	}
}

func TestStricterLeavesItsArgumentsAlone(t *testing.T) {
	a, b := Need{People: []string{"a", "b", "c"}}, Need{People: []string{"c", "a"}}
	Stricter(a, b)
	if !slices.Equal(a.People, []string{"a", "b", "c"}) || !slices.Equal(b.People, []string{"c", "a"}) {
		t.Errorf("%v %v", a.People, b.People)
	}
}
