package gate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// secret is what a letter hides, as JSON: by place, and pan by a pattern.
type secret struct{ card, other, pan string }

// said is the card as a text repeats it; a letter need not.
func (s secret) said(loud bool) string {
	if !loud || s.card[0] != '"' || len(rawjson.Text([]byte(s.card))) < minHidden {
		return "nothing"
	}
	return rawjson.Text([]byte(s.card))
}

// letter is the body and the error of a letter with that secret. All but what is
// hidden is the same for every secret.
func (s secret) letter(loud bool) (body, message string) {
	repeated := fmt.Sprint(string(must(json.Marshal(s.said(loud)))))
	inside := repeated[1 : len(repeated)-1]
	return `{"currency":"EU", "card":` + s.card + `,"items":[{"sku":"a","card":` + s.other + `},{"sku":"b","card":` + s.card + `},{"sku":"c"}],` +
			`"note":"paid with ` + inside + ` twice","o":{"k":` + repeated + `,"m":1.10},"list":[1,` + repeated + `,{"z":"` + s.pan + `"}],` +
			`"n":1e2,"id":9007199254740993,"free":["x","y",{"u":1}],"":{"~1":0,"*":"s"},"pan":"` + s.pan + `","\ud800":5}`,
		"Refused: " + s.said(loud) + " for " + s.pan + " in k=" + repeated
}

// pairs are secrets that nobody may be able to tell apart: by value, length,
// type, spelling, structure or by what they have in common with a stand-in.
var pairs = [][2]secret{
	{{`"tok-0001"`, `"tok-0002"`, "4111111111111111"}, {`"tok-0003"`, `"tok-0004"`, "5500000000000004"}},
	{{`"tok-0001"`, `"tok-0001"`, "4111111111111111"}, {`"tok-0003"`, `"tok-0004"`, "4000000000002"}},
	{{`"tok-0001"`, `7`, "4111111111111111"}, {`"` + strings.Repeat("very long ", 500) + `"`, `{"sku":[1,2,{"card":null}]}`, "4111111111111"}},
	{{`"redacted"`, `null`, "4111111111111111"}, {`"[redacted]"`, `true`, "5500000000000004"}},
	{{`"red"`, `"act"`, "4111111111111111"}, {`"§§§"`, `"zzz"`, "5500000000000004"}},
	{{`"\":\""`, `"},{"`, "4111111111111111"}, {`"\\u0041"`, `"\\"`, "5500000000000004"}},
	{{`"a\nb\u0000c"`, `"\ud83d\udcb3"`, "4111111111111111"}, {`"José <a&b>"`, `"\ud800x"`, "5500000000000004"}},
	{{`1`, `1.0`, "4111111111111111"}, {`{"n":1,"sku":"a"}`, `[]`, "5500000000000004"}},
	{{`null`, `""`, "4111111111111111"}, {`[[[]]]`, `{}`, "5500000000000004"}},
	{{`true`, `12345678901234567890`, "4111111111111111"}, {`9007199254740997`, `1e400`, "5500000000000004"}},
	{{`"{\"card\":1}"`, `1`, "4111111111111111"}, {`"4242424242424242"`, `"111111111111"`, "4111111111111111"}},
}

// policies hide the same and allow different things.
func policies(t testing.TB) map[string]*policy.Queue {
	out := map[string]*policy.Queue{}
	for name, allow := range map[string][]string{"all": {""}, "some": {"/currency", "/card", "/items/*/sku", "/items/*/card", "/list", "/free", "/o/m"}, "one": {"/currency"}} {
		q := &policy.Queue{Name: "orders"}
		q.Redact = hiding(t, []string{"/card", "/items/*/card"}, panPattern).Redaction
		q.Patch.Allow = hiding(t, allow, nil).Paths
		out[name] = q
		if name == "all" {
			whole := *q
			whole.Redact.Paths, whole.Patch.Replace = nil, true
			out["patterns only"] = &whole
		}
	}
	schema := *out["all"]
	schema.Patch.Schema = &policy.BodySchema{Name: "s.json", Data: []byte(`{"properties":{"card":{"type":"string","maxLength":8},"pan":{"pattern":"^4"},` +
		`"currency":{"maxLength":3},"items":{"items":{"properties":{"card":{"const":7}}}},"note":{"maxLength":30}},"maxProperties":14,"not":{"properties":{"card":{"const":null}}}}`)}
	out["schema"] = &schema
	return out
}

// told is all that a proposal tells about one letter.
func told(q *policy.Queue, s secret, loud bool, kind, data string) (out changed, text string) {
	body, _ := s.letter(loud)
	ch, err := readChange(kind, []byte(data))
	if err == nil {
		err = ch.allowedBy(q)
	}
	if err == nil {
		d := &backends.DeadLetter{Payload: backends.Payload{Bytes: []byte(body), ContentType: "application/json", Patchable: true}}
		out, err = ch.apply(q, d)
	}
	if err != nil {
		return changed{}, "refused: " + err.Error()
	}
	return out, fmt.Sprintf("before %s\nafter %s\npaths %q hidden %q mends %v sets %v\n%s", out.before, out.after, out.paths, out.hidden, out.mends, out.sets,
		briefDiffs(redactor{Redaction: q.Redact}).text("1", out))
}

// hostile makes patches out of places, hidden ones and others, and of guesses.
type hostile struct {
	*rand.Rand
	guesses []string
}

func (h hostile) pick(list ...string) string { return list[h.IntN(len(list))] }

func (h hostile) path() string {
	return h.pick("", "/card", "/card", "/card/n", "/card/0", "/items", "/items/0", "/items/1", "/items/2", "/items/-", "/items/00", "/items/0/card", "/items/1/card", "/items/2/card",
		"/items/0/sku", "/note", "/o", "/o/k", "/o/m", "/list", "/list/0", "/list/1", "/list/2", "/list/2/z", "/list/-", "/pan", "/n", "/id", "/free", "/free/0", "/free/2/u", "/free/-",
		"/currency", "/new", "/", "//~01", "/~1", "//*", "/*", "/Card", "/c\u0061rd", "/\ufffd", "/tok-0001", "/4111111111111111", "/[redacted]")
}

func (h hostile) value() string {
	return h.pick(append(h.guesses, `"[redacted]"`, "null", "1", "1.0", "100", "{}", "[]", `"x"`, `{"sku":"a","card":"[redacted]"}`, `[1,"[redacted]",{"z":"[redacted]"}]`, `{"k":"x","m":1.1}`, `9007199254740992`)...)
}

func (h hostile) operation() string {
	switch op := h.pick("add", "replace", "test", "remove", "move", "copy"); op {
	case "remove":
		return fmt.Sprintf(`{"op":%q,"path":%q}`, op, h.path())
	case "move", "copy":
		return fmt.Sprintf(`{"op":%q,"path":%q,"from":%q}`, op, h.path(), h.path())
	default:
		return fmt.Sprintf(`{"op":%q,"path":%q,"value":%s}`, op, h.path(), h.value())
	}
}

func (h hostile) change() (kind, data string) {
	switch h.IntN(8) {
	case 0:
		return kindBody, h.value()
	case 1, 2:
		var members []string
		for i, name := range h.Perm(8)[:1+h.IntN(3)] {
			name := []string{"card", "items", "o", "note", "currency", "list", "n", "free"}[name]
			v := h.value()
			if i == 0 && h.IntN(2) == 0 {
				v = fmt.Sprintf(`{%q:%s}`, h.pick("0", "card", "n", "k", "-", "1"), v)
			}
			members = append(members, fmt.Sprintf("%q:%s", name, v))
		}
		return kindMerge, "{" + strings.Join(members, ",") + "}"
	}
	ops := []string{}
	for range 1 + h.IntN(4) {
		ops = append(ops, h.operation())
	}
	return kindPatch, "[" + strings.Join(ops, ",") + "]"
}

// Two letters that differ only in what is hidden look the same, and every patch
// says the same of both, whatever it guesses and wherever it reaches. What is
// sent holds no hidden value at a place where it would be shown.
func TestBlind(t *testing.T) {
	for name, q := range policies(t) {
		for n, pair := range pairs {
			if len(q.Redact.Paths) == 0 {
				pair[0].card, pair[0].other = pair[1].card, pair[1].other
			}
			for _, loud := range []bool{true, false} {
				lookAlike(t, q, pair, loud)
				h := hostile{rand.New(rand.NewPCG(uint64(n), 7)), nil}
				for _, s := range pair {
					h.guesses = append(h.guesses, s.card, s.other, `"`+s.pan+`"`, string(must(json.Marshal("paid with "+s.said(loud)+" twice"))))
				}
				applied := 0
				for range 250 {
					kind, data := h.change()
					if alike(t, q, pair, loud, kind, data) {
						applied++
					}
				}
				if applied == 0 {
					t.Errorf("%s, %.100q: none of the changes applied", name, pair)
				}
			}
		}
	}
}

func lookAlike(t *testing.T, q *policy.Queue, pair [2]secret, loud bool) {
	t.Helper()
	var looks [2]string
	for i, s := range pair {
		body, message := s.letter(loud)
		b, r := redactor{Redaction: q.Redact}.body([]byte(body))
		known, err := shadowOf(q, []byte(body))
		looks[i] = fmt.Sprintf("%s %d %q\n%s\n%s %v %v", b.data, b.places, b.withheld, b.text(r, message), known.doc, known.veils, err)
	}
	if looks[0] != looks[1] {
		t.Errorf("secrets %.100q can be told apart:\n%s\n\n%s", pair, looks[0], looks[1])
	}
}

// alike reports whether the change applies.
func alike(t *testing.T, q *policy.Queue, pair [2]secret, loud bool, kind, data string) bool {
	t.Helper()
	out, a := told(q, pair[0], loud, kind, data)
	_, b := told(q, pair[1], loud, kind, data)
	if a != b {
		t.Fatalf("secrets %.100q: %s %s tells them apart:\n%s\n\n%s", pair, kind, data, a, b)
	}
	if out.body == nil || len(q.Redact.Paths) == 0 {
		return out.body != nil
	}
	// What is sent may die and be read again.
	later, _ := redactor{Redaction: q.Redact}.body(out.body)
	for _, hidden := range []string{pair[0].card, pair[0].other} {
		if word := strings.Trim(hidden, `"`); strings.HasPrefix(word, "tok-") && !strings.Contains(data, word) && strings.Contains(string(later.data), word) {
			t.Fatalf("%s %s brings %s to light: %s", kind, data, word, later.data)
		}
	}
	return true
}

// FuzzBlind looks for a change that tells two secrets apart.
func FuzzBlind(f *testing.F) {
	all := policies(f)
	names := []string{"all", "some", "one", "patterns only", "schema"}
	for n, pair := range pairs {
		for i, data := range []string{
			`[{"op":"copy","from":"/card","path":"/currency"},{"op":"replace","path":"/card","value":"x"}]`, `{"card":"tok-0001","o":{"m":1.1}}`,
			`[{"op":"test","path":"/o/k","value":"tok-0001"},{"op":"remove","path":"/list/0"}]`, `"[redacted]"`,
		} {
			f.Add(pair[0].card, pair[1].card, pair[n%2].other, uint8(n+i), data)
		}
	}
	f.Fuzz(func(t *testing.T, one, two, other string, how uint8, data string) {
		loud := how&1 == 0
		pair := [2]secret{{one, other, "4111111111111111"}, {two, one, "5500000000000004"}}
		for i := range pair {
			s := &pair[i]
			if rawjson.Check([]byte(s.card)) != nil || rawjson.Check([]byte(s.other)) != nil || strings.ContainsAny(s.card+s.other, "‹›") {
				return
			}
			s.card, s.other = strings.TrimSpace(s.card), strings.TrimSpace(s.other)
			if loud { // what a text repeats stands between signs that nothing else has
				s.card = string(must(json.Marshal("‹" + rawjson.Text([]byte(s.card)) + "›")))
			}
		}
		q := all[names[int(how/4)%len(names)]]
		if len(q.Redact.Paths) == 0 {
			pair[0].card, pair[0].other = pair[1].card, pair[1].other
		}
		if byChance(pair) {
			return
		}
		kind := []string{kindPatch, kindMerge, kindBody}[int(how/2)%3]
		lookAlike(t, q, pair, loud)
		alike(t, q, pair, loud, kind, data)
	})
}

// byChance reports whether a hidden value stands in what everybody sees of such
// a letter: hiding it there tells what it is, and so would not hiding it. A body
// that hides more than can be looked for is withheld, which tells as much.
func byChance(pair [2]secret) bool {
	body, message := secret{"null", "null", "0"}.letter(false)
	for _, s := range pair {
		texts, holds := textsOf("[" + s.card + "," + s.other + "]")
		values, err := newFinder(sought(texts))
		r := redactor{Redaction: policy.Redaction{Paths: []rawjson.Pattern{{}}}, values: values}
		if !holds || err != nil || r.text(message) != message || r.json([]byte(body)) != body || r.text(s.pan) != s.pan {
			return true
		}
	}
	return false
}
