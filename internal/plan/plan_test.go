package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var at = time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)

// full is a plan with every optional field.
func full() *Plan {
	return &Plan{V: Version, ID: "r-7k2m9qxa", Mode: "approval", Queue: "orders",
		Target: "postgres/shop/public.jobs#orders via app@db.example:5432", Physical: "postgres/shop/public.jobs#orders",
		Destination: "orders of public.jobs", Effect: "sets the job available again", Attempts: "reset",
		Policy: strings.Repeat("a1", 32), Rule: "settled",
		Need:      Need{Effect: "approval", From: []string{"ana", "luis"}, Count: 1, Proof: "none", Separation: "agent", ValidFor: 30 * time.Minute},
		Requester: Requester{Kind: "agent", Principal: "luis", Client: "claude-code 2.1", Session: "s-1", OSUser: "luis", Host: "web-1"},
		Reason:    "the provider is back", Fix: &Fix{Ref: "deploy 812", At: "2026-12-01T07:40:00Z"},
		Group: "0123456789ab", GroupLabel: "HTTP <n> from provider", Patch: []string{"/currency", "/customer/email"}, Hidden: 2,
		Rate: 0.5, PerHour: 60, Created: at, Expires: at.Add(time.Hour), NotAfter: at.Add(2 * time.Hour), Nonce: "n0nce",
		Items: []Item{{N: 0, ID: "9007199254740993", Mark: "m", Before: strings.Repeat("b", 64), After: strings.Repeat("c", 64)},
			{N: 1, ID: `"quoted" <ü>`, Mark: "", Before: strings.Repeat("d", 64)}}}
}

// least is a plan without any.
func least() *Plan {
	return &Plan{V: Version, ID: "r-1", Mode: "direct", Queue: "jobs", Target: "t", Physical: "p", Destination: "d", Effect: "e", Attempts: "keep",
		Policy: "p0", Rule: "r", Need: Need{Effect: "direct"}, Requester: Requester{Kind: "person"}, Reason: "why",
		Created: at, Expires: at, NotAfter: at, Nonce: "n", Items: []Item{}}
}

func encode(t testing.TB, p *Plan) []byte {
	t.Helper()
	data, digest, err := Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(data); digest != hex.EncodeToString(sum[:]) {
		t.Fatalf("digest %s is not the SHA-256 of the bytes", digest)
	}
	return data
}

func TestRoundTrip(t *testing.T) {
	for name, p := range map[string]*Plan{"full": full(), "least": least()} {
		data := encode(t, p)
		back, err := Decode(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(back, p) {
			t.Errorf("%s: %+v became %+v", name, p, back)
		}
		if again := encode(t, back); !bytes.Equal(again, data) {
			t.Errorf("%s has a second spelling: %s", name, again)
		}
	}
}

// Whatever differs in a plan differs in its digest: each field of it is changed,
// those within it and within its items too.
func TestEveryFieldIsInTheDigest(t *testing.T) {
	base := Digest(encode(t, full()))
	fields := leaves(reflect.TypeFor[Plan](), nil)
	if len(fields) < 40 {
		t.Errorf("only %d fields were found", len(fields))
	}
	for _, path := range fields {
		p := full()
		change(leaf(p, path))
		if Digest(encode(t, p)) == base {
			t.Errorf("%v does not change the digest", path)
		}
	}
	p := full()
	p.Items = p.Items[:1]
	if Digest(encode(t, p)) == base {
		t.Error("an item less does not change the digest")
	}
}

// leaves are the paths, by field names, of all fields that hold no further ones.
func leaves(t reflect.Type, path []string) (all [][]string) {
	switch {
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice:
		return leaves(t.Elem(), path)
	case t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]():
		return [][]string{path}
	}
	for i := range t.NumField() {
		all = append(all, leaves(t.Field(i).Type, append(slices.Clip(path), t.Field(i).Name))...)
	}
	return all
}

// leaf is the field at a path; of a list, the last item's.
func leaf(p *Plan, path []string) reflect.Value {
	for v := reflect.ValueOf(p); ; {
		switch {
		case v.Kind() == reflect.Pointer:
			v = v.Elem()
		case v.Kind() == reflect.Slice:
			v = v.Index(v.Len() - 1)
		case len(path) == 0:
			return v
		default:
			v, path = v.FieldByName(path[0]), path[1:]
		}
	}
}

// change gives a field another value.
func change(v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = x.Add(1)
	case *string:
		*x += "x"
	case *bool:
		*x = !*x
	case *int:
		*x++
	case *float64:
		*x /= 2
	case *time.Duration:
		*x++
	default:
		panic(fmt.Sprintf("no other value is known for a %T", x))
	}
}

// Bytes that are no UTF-8 would be frozen like others that are none.
func TestOnlyUTF8IsFrozen(t *testing.T) {
	for _, path := range leaves(reflect.TypeFor[Plan](), nil) {
		for text, ok := range map[string]bool{"\xff": false, "a\xc3": false, "\xed\xa0\x80": false, "\ufffd": true, `\ufffd`: true, `\\ufffd`: true, "\\\xff": false, "\u2028": true} {
			p := full()
			v := leaf(p, path)
			if v.Kind() != reflect.String {
				break
			}
			v.SetString(text)
			data, _, err := Encode(p)
			if (err == nil) != ok {
				t.Errorf("%v = %q: %v", path, text, err)
			}
			if err == nil {
				if back, err := Decode(data); err != nil || !reflect.DeepEqual(back, p) {
					t.Errorf("%v = %q comes back as %+v, %v", path, text, back, err)
				}
			}
		}
	}
}

func TestOneSpelling(t *testing.T) {
	good := string(encode(t, full()))
	swap := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the plan holds no %s", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	for name, text := range map[string]string{
		"nothing":               "",
		"null":                  "null",
		"a list":                "[" + good + "]",
		"a space in front":      " " + good,
		"a newline behind":      good + "\n",
		"a second document":     good + good,
		"a space inside":        swap(`"v":1,`, `"v": 1,`),
		"keys in another turn":  swap(`"v":1,"id":"r-7k2m9qxa"`, `"id":"r-7k2m9qxa","v":1`),
		"a key twice":           swap(`"v":1,`, `"v":1,"v":1,`),
		"a key twice inside":    swap(`"n":0,`, `"n":0,"n":0,`),
		"another case":          swap(`"queue"`, `"Queue"`),
		"an unknown key":        swap(`"v":1,`, `"v":1,"x":1,`),
		"an unknown key inside": swap(`"n":0,`, `"n":0,"x":0,`),
		"an empty optional":     swap(`"hidden":2`, `"hidden":0`),
		"an escape":             swap(`"orders"`, `"\u006frders"`),
		"a raw angle bracket":   swap(`\u003c`, "<"),
		"another number":        swap(`"rate":0.5`, `"rate":5e-1`),
		"another zone":          swap(`2026-12-01T08:00:00Z`, `2026-12-01T08:00:00+00:00`),
		"another version":       swap(`"v":1,`, `"v":2,`),
		"cut short":             good[:len(good)-1],
		"a wrong type":          swap(`"v":1`, `"v":"1"`),
	} {
		if p, err := Decode([]byte(text)); err == nil {
			t.Errorf("%s is accepted: %+v", name, p)
		}
	}
}

func TestEncodeRefusesWhatHasNoSpelling(t *testing.T) {
	p := full()
	p.Rate = math.NaN()
	if _, _, err := Encode(p); err == nil || !strings.Contains(err.Error(), "r-7k2m9qxa") {
		t.Errorf("a rate that is no number: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(f, full()))
	f.Add(encode(f, least()))
	f.Add([]byte(`{"v":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Decode(data)
		if err != nil {
			return
		}
		if again := encode(t, p); !bytes.Equal(again, data) {
			t.Errorf("%q was accepted, and is written %q", data, again)
		}
	})
}

func TestBinds(t *testing.T) {
	s, other := Salt{1}, Salt{2}
	env, env2 := sha256.Sum256([]byte("e")), sha256.Sum256([]byte("f"))
	stored := Item{Before: Before(s, env)}
	patched := func(body []byte) Item { return Item{Before: Before(s, env), After: After(s, env, body)} }
	for name, c := range map[string]struct {
		item Item
		salt Salt
		env  [32]byte
		body []byte
		want bool
	}{
		"as stored":                        {stored, s, env, nil, true},
		"another salt":                     {stored, other, env, nil, false},
		"another envelope":                 {stored, s, env2, nil, false},
		"a body where none was bound":      {stored, s, env, []byte("b"), false},
		"an empty body where none was":     {stored, s, env, []byte{}, false},
		"the body":                         {patched([]byte("b")), s, env, []byte("b"), true},
		"an empty body":                    {patched([]byte{}), s, env, []byte{}, true},
		"no body where an empty was bound": {patched([]byte{}), s, env, nil, false},
		"no body where one was bound":      {patched([]byte("b")), s, env, nil, false},
		"another body":                     {patched([]byte("b")), s, env, []byte("c"), false},
		"the body, another salt":           {patched([]byte("b")), other, env, []byte("b"), false},
		"the body, another envelope":       {patched([]byte("b")), s, env2, []byte("b"), false},
		"after alone":                      {Item{After: After(s, env, []byte("b"))}, s, env, []byte("b"), false},
		"after of another salt":            {Item{Before: Before(s, env), After: After(other, env, []byte("b"))}, s, env, []byte("b"), false},
		"before in the place of after":     {Item{Before: Before(s, env), After: Before(s, env)}, s, env, []byte("b"), false},
		"nothing bound":                    {Item{}, s, env, nil, false},
	} {
		if got := c.item.Binds(c.salt, c.env, c.body); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestCommitmentsAreWhatTheyAreSaidToBe(t *testing.T) {
	s, env := Salt{7}, sha256.Sum256([]byte("envelope"))
	body := sha256.Sum256([]byte("body"))
	before := sha256.Sum256(append(s[:], env[:]...))
	after := sha256.Sum256(append(append(append([]byte{}, s[:]...), env[:]...), body[:]...))
	if Before(s, env) != hex.EncodeToString(before[:]) || After(s, env, []byte("body")) != hex.EncodeToString(after[:]) {
		t.Error("a commitment is not SHA-256(salt ‖ envelope [‖ body])")
	}
	if one, two := NewSalt(), NewSalt(); one == two || one == (Salt{}) {
		t.Error("two salts are equal")
	}
}

func TestShort(t *testing.T) {
	for digest, want := range map[string]string{
		"":                       "",
		"abc":                    "abc",
		"abcd":                   "abcd",
		"abcde":                  "abcd-e",
		strings.Repeat("0f", 10): "0f0f-0f0f-0f0f-0f0f-0f0f",
		strings.Repeat("0f", 32): "0f0f-0f0f-0f0f-0f0f-0f0f",
	} {
		if got := Short(digest); got != want {
			t.Errorf("Short(%s) = %s, want %s", digest, got, want)
		}
	}
}

func TestRequesterName(t *testing.T) {
	for want, r := range map[string]Requester{
		"agent":                 {Kind: "agent"},
		"agent for luis":        {Kind: "agent", Principal: "luis"},
		"agent claude for luis": {Kind: "agent", Client: "claude", Principal: "luis"},
		"person luis":           {Kind: "person", Principal: "luis"},
		"person cli luis":       {Kind: "person", Client: "cli", Principal: "luis"},
	} {
		if got := r.Name(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
