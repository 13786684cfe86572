package rawjson_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
)

func TestEqual(t *testing.T) {
	long := strings.Repeat("9", 400)
	cases := []struct {
		a, b string
		want bool
	}{
		{"1", "1.0", true}, {"1", "1e0", true}, {"100", "1e2", true}, {"100", "1E+2", true}, {"0.01", "1e-2", true},
		{"-0", "0", true}, {"0e5", "0.00", true}, {"-0.0e999999999999999999999", "0", true},
		{"1", "-1", false}, {"1", "10", false}, {"1", "2", false}, {"0.1", "0.10000000000000001", false},
		{"9007199254740993", "9007199254740992", false}, {"18446744073709551615", "18446744073709551616", false},
		{"9007199254740993", "9007199254740993.0", true}, {"9007199254740993", "9.007199254740993e15", true},
		{"1e999999999", "1e999999998", false}, {"1e999999999", "10e999999998", true}, {"1e999999999", "1e0999999999", true},
		{"1e-999999999", "0", false}, {"1e99999999999999999999", "10e99999999999999999998", true},
		{"1e100000000000000000000", "10e99999999999999999999", true}, {"1e-100000000000000000000", "0.1e-99999999999999999999", true},
		{"1e1000000000000000000", "10e999999999999999999", true}, {"1e-1000000000000000000", "0.1e-999999999999999999", true},
		{"1e100000000000000000000", "1e-100000000000000000000", false}, {"1e100000000000000000000", "1e100000000000000000001", false},
		{"1e" + long, "10e" + long[1:] + "8", true}, {"1e" + long, "10e" + long, false}, {"1e1" + strings.Repeat("0", 400), "10e" + long, true},
		{`"a"`, `"\u0061"`, true}, {`"\/"`, `"/"`, true}, {`"😀"`, `"\ud83d\uDE00"`, true}, {`"a"`, `"A"`, false},
		{`"\ud800"`, `"\ud801"`, false}, {`"\ud800"`, `"\ufffd"`, false}, {`"\uD800"`, `"\ud800"`, true}, {`"e\u0301"`, `"é"`, false},
		{`"1"`, "1", false}, {"null", "false", false}, {"true", "false", false}, {"null", "null", true}, {"[]", "{}", false},
		{`{"a":1,"b":[2]}`, ` { "b" : [ 2.0 ] , "\u0061" : 1 } `, true}, {`{"a":1}`, `{"a":1,"b":null}`, false},
		{`{"a":1}`, `{"b":1}`, false}, {`[1,2]`, `[2,1]`, false}, {`[1]`, `[1,1]`, false}, {`[[1],[2]]`, `[[1.0],[2e0]]`, true},
		{"", "", false}, {"x", "x", false}, {`{"a":1,"a":1}`, `{"a":1,"a":1}`, false}, {"1", "1 1", false},
	}
	for _, c := range cases {
		if rawjson.Equal([]byte(c.a), []byte(c.b)) != c.want || rawjson.Equal([]byte(c.b), []byte(c.a)) != c.want {
			t.Errorf("Equal(%.60s, %.60s), in one order or the other, is not %v", c.a, c.b, c.want)
		}
	}
}

func TestEqualNumbersAgainstBig(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(1, 2))}
	number := func() string {
		s := m.pick("", "-") + m.pick("0", "1", "10", "100", "12", "120", "9007199254740993")
		s += m.pick("", "", ".0", ".1", ".10", ".01", ".010")
		return s + m.pick("", "", "e0", "E1", "e+1", "e-1", "e2", "e-02", "e-3")
	}
	same := 0
	for range 50000 {
		a, b := number(), number()
		want := refSameNumber(a, b)
		if want {
			same++
		}
		if got := rawjson.Equal([]byte(a), []byte(b)); got != want {
			t.Fatalf("Equal(%s, %s) = %v", a, b, got)
		}
	}
	if same < 500 {
		t.Errorf("only %d pairs were equal", same)
	}
}

// An exponent of a million digits must be compared, not computed.
func TestEqualEndlessExponent(t *testing.T) {
	nines := strings.Repeat("9", 1<<20)
	a, b := []byte("10e"+nines), []byte("1e1"+strings.Repeat("0", 1<<20))
	if !rawjson.Equal(a, b) || rawjson.Equal(a, []byte("1e"+nines)) {
		t.Error("numbers with endless exponents are compared wrongly")
	}
}

func TestText(t *testing.T) {
	for value, want := range map[string]string{
		`"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"`: "a\"\\/\b\f\n\r\té😀", `""`: "", "1.50": "1.50", "true": "true", "null": "null",
		`"\ud800x\udc00\ud800\ud83d\ude00"`: "\ufffdx\ufffd\ufffd😀", `{"a":"\u0061"}`: `{"a":"\u0061"}`, `"x"`: "x", "": "", `"`: `"`, `"\"`: `"\"`, `"\u00"`: `"\u00"`, `"a" `: "a",
	} {
		if got := rawjson.Text([]byte(value)); got != want {
			t.Errorf("Text(%s) = %q, want %q", value, got, want)
		}
	}
}

func TestGet(t *testing.T) {
	doc := []byte(` {"a" : [ 1.10 , {"b\/c":"\u00e9"} ] , "" : null } `)
	for p, want := range map[string]string{
		"": `{"a" : [ 1.10 , {"b\/c":"\u00e9"} ] , "" : null }`, "/a/0": "1.10", "/a/1/b~1c": `"\u00e9"`, "/": "null", "/a/1": `{"b\/c":"\u00e9"}`,
	} {
		if got, ok, err := rawjson.Get(doc, ptr(t, p)); !ok || err != nil || string(got) != want {
			t.Errorf("Get(%q) = %s, %v, %v", p, got, ok, err)
		}
	}
	for _, p := range []string{"/b", "/a/2", "/a/-", "/a/00", "/a/0/x", "/a/x", "//"} {
		if got, ok, err := rawjson.Get(doc, ptr(t, p)); ok || err != nil || got != nil {
			t.Errorf("Get(%q) = %s, %v, %v", p, got, ok, err)
		}
	}
	if _, _, err := rawjson.Get([]byte(`{"a":1}}`), ptr(t, "/a")); err == nil {
		t.Error("Get read a document that is not strict")
	}
	got, _, _ := rawjson.Get(doc, ptr(t, "/a/0"))
	if _ = append(got, "xxxx"...); !strings.Contains(string(doc), `1.10 , {`) {
		t.Error("appending to a value wrote into the document")
	}
}

func TestFindAndLeaves(t *testing.T) {
	doc := []byte(`{"items":[{"p":1},{"q":2},{"p":[3,true]}],"p":"x"}`)
	hits, err := rawjson.Find(doc, patterns(t, "/items/*/p")[0])
	if err != nil || len(hits) != 2 || hits[0].Pointer.String() != "/items/0/p" || hits[1].Pointer.String() != "/items/2/p" {
		t.Fatalf("Find: %v, %v", hits, err)
	}
	for _, h := range hits {
		if string(doc[h.From:h.To]) != string(h.Value) {
			t.Errorf("hit %q: %s is not at %d:%d", h.Pointer, h.Value, h.From, h.To)
		}
	}
	if hits, err := rawjson.Find(doc, patterns(t, "")[0]); err != nil || len(hits) != 1 || string(hits[0].Value) != string(doc) {
		t.Errorf("Find of the root: %v, %v", hits, err)
	}
	if _, err := rawjson.Find(doc[1:], patterns(t, "")[0]); err == nil {
		t.Error("Find read a document that is not strict")
	}
	var leaves []string
	for p, v := range rawjson.Leaves(doc) {
		leaves = append(leaves, fmt.Sprintf("%s=%s", p, v))
	}
	if got := strings.Join(leaves, " "); got != `/items/0/p=1 /items/1/q=2 /items/2/p/0=3 /items/2/p/1=true /p="x"` {
		t.Errorf("Leaves: %s", got)
	}
	for p := range rawjson.Leaves(doc) {
		if p.String() != "/items/0/p" {
			t.Errorf("Leaves went on to %q after the loop ended", p)
		}
		break
	}
	for range rawjson.Leaves([]byte(`[1,2`)) {
		t.Error("Leaves read a document that is not strict")
	}
}
