package gate

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// hiding makes a redactor of paths and patterns.
func hiding(t testing.TB, paths, patterns []string) redactor {
	t.Helper()
	var r redactor
	for _, p := range paths {
		pat, err := rawjson.ParsePattern(p)
		if err != nil {
			t.Fatal(err)
		}
		r.Paths = append(r.Paths, pat)
	}
	for _, p := range patterns {
		r.Text = append(r.Text, regexp.MustCompile(p))
	}
	return r
}

var panPattern = []string{`\b\d{13,19}\b`}

// What a letter shows of its body and of its error.
func TestCover(t *testing.T) {
	cases := []struct {
		name            string
		paths, patterns []string
		body, message   string
		seen, said      string
	}{
		{"a value that is part of what a pattern hides", []string{"/last4"}, panPattern, `{"last4":"4242","note":"4000123412344242"}`, "card 4000123412344242", `{"last4":"[redacted]","note":"[redacted]"}`, "card [redacted]"},
		{"a value that begins what a pattern hides", []string{"/bin"}, panPattern, `{"bin":400012,"n":4000123412344242}`, "card 4000123412344242", `{"bin":"[redacted]","n":"[redacted]"}`, "card [redacted]"},
		{"a value that is part of a stand-in", []string{"/a"}, nil, `{"a":"red","b":1}`, "red is red", `{"a":"[redacted]","b":1}`, "[redacted] is [redacted]"},
		{"one of two values is part of a stand-in", []string{"/a", "/b"}, nil, `{"a":"act","b":"secret-1"}`, "secret-1", `{"a":"[redacted]","b":"[redacted]"}`, "[redacted]"},
		{"a value that is JSON's own signs", []string{"/a"}, nil, `{"a":"\":\"","b":"c"}`, `":"`, `{"a":"[redacted]","b":"c"}`, "[redacted]"},
		{"a name in escapes", []string{"/a"}, nil, `{"a":"tok-1","b":{"\u0074ok-1":1}}`, `\u0074ok-1`, `{"a":"[redacted]","b":{"[redacted]":1}}`, "[redacted]"},
		{"values that overlap", []string{"/a", "/b"}, nil, `{"a":"abcd","b":"cdefgh"}`, "xabcdefghx", `{"a":"[redacted]","b":"[redacted]"}`, "x[redacted]x"},
		{"a value beside itself", []string{"/a"}, nil, `{"a":"abc"}`, "abcabcabc.", `{"a":"[redacted]"}`, "[redacted]."},
		{"a value that overlaps itself", []string{"/a"}, nil, `{"a":"aaa"}`, "aaaaaaaaa.", `{"a":"[redacted]"}`, "[redacted]."},
		{"a pattern with anchors", nil, []string{`^\d{4}$`}, `{"a":"1234","b":["12345",1234]}`, "1234", `{"a":"[redacted]","b":["12345","[redacted]"]}`, "[redacted]"},
		{"a pattern across a name and its value", nil, []string{`(?i)"password"\W+\w+`}, `{"password":"hunter2"}`, `"password": hunter2`, `{[redacted]"}`, "[redacted]"},
		{"a pattern that matches stand-ins", []string{"/a"}, []string{`[a-z]+ted`}, `{"a":"tok-1","b":"rated"}`, "tok-1", `{"a":"[redacted]","b":"[redacted]"}`, "[redacted]"},
		{"a pattern beside a hidden value", []string{"/a"}, []string{`pin \w+`}, `{"a":"§§§"}`, "pin §§§ ok", `{"a":"[redacted]"}`, "pin [redacted] ok"},
		{"capitals in escapes", []string{"/a"}, nil, `{"a":"José"}`, `Jos\u00E9 Jos\u00e9 Jos\xe9`, `{"a":"[redacted]"}`, "[redacted] [redacted] [redacted]"},
		{"a slash in escapes", []string{"/a"}, nil, `{"a":"https://x/y"}`, `{"url":"https:\/\/x\/y"}`, `{"a":"[redacted]"}`, `{"url":"[redacted]"}`},
		{"JSON in JSON in JSON", []string{"/a"}, nil, `{"a":"say \"x\""}`, `"{\"v\":\"say \\\"x\\\"\"}"`, `{"a":"[redacted]"}`, `"{\"v\":\"[redacted]\"}"`},
		{"an address", []string{"/a"}, nil, `{"a":"jo@example.com"}`, `GET /?q=jo%40example.com&x`, `{"a":"[redacted]"}`, `GET /?q=[redacted]&x`},
		{"space around it", []string{"/a"}, nil, `{"a":" tok-1\n"}`, `tok-1!`, `{"a":"[redacted]"}`, `[redacted]!`},
		{"values in a string that holds JSON", []string{"/a"}, nil, `{"a":"{\"pan\":\"tok-1\"}","b":"tok-1"}`, "tok-1", `{"a":"[redacted]","b":"[redacted]"}`, "[redacted]"},
		{"a body that is JSON in a string", []string{"/a"}, nil, `"{\"a\":\"tok-1\",\"b\":2}"`, "tok-1", `"[redacted]"`, "[redacted]"},
		{"a part that is JSON in a string", []string{"/o/a"}, nil, `{"o":"{\"a\":\"tok-1\"}","b":2}`, "tok-1", `{"o":"[redacted]","b":2}`, "[redacted]"},
		{"a plain string above a path", []string{"/o/a"}, nil, `{"o":"plain","b":2}`, "plain", `{"o":"plain","b":2}`, "plain"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			b, r := hiding(t, tc.paths, tc.patterns).body([]byte(tc.body))
			if b.withheld != "" || string(b.data) != tc.seen {
				t.Errorf("the body reads %s %s, want %s", b.data, b.withheld, tc.seen)
			}
			if said := b.text(r, tc.message); said != tc.said {
				t.Errorf("the error reads %s, want %s", said, tc.said)
			}
			if again := r.json(b.data); again != string(b.data) {
				t.Errorf("a second time it reads %s", again)
			}
		})
	}
}

// Bodies that nobody can be sure about are withheld, with all that may repeat
// what they hold, and those with nothing in them are not.
func TestWithheld(t *testing.T) {
	many := `{"a":["` + strings.Repeat("0123456789", maxSought/10+1) + `"]}`
	for body, withheld := range map[string]bool{
		`{"a":1,"a":2}`: true, `a=1`: true, "\xff\xfe{\x00}\x00": true, "{\"a\":\"\xff\"}": true, "\ufeff{\"a\":1}": true, `{"a":1} `: false,
		`"{'a': 1}"`: true, `"[1,"`: true, `{"o":"{nope}"}`: false, many: true, ``: false, " \n": false, `"plain"`: false, `5`: false,
	} {
		b, r := hiding(t, []string{"/a"}, nil).body([]byte(body))
		if (b.withheld != "") != withheld {
			t.Errorf("%.40q: %q", body, b.withheld)
		}
		if b.withheld != "" && (b.text(r, "a word") != hiddenText || b.data != nil) {
			t.Errorf("%.40q shows %q, %q", body, b.text(r, "a word"), b.data)
		}
	}
}

// How many places are hidden does not tell what stands in them.
func TestPlacesTellNothing(t *testing.T) {
	for _, body := range []string{`{"a":"x"}`, `{"a":{"n":1}}`, `{"a":{"n":{"a":2}}}`, `{"a":[{"n":1},{"n":2}]}`, `{"a":null}`} {
		b, _ := hiding(t, []string{"/a", "/a/n", "/*/n", "/a/*/n"}, nil).body([]byte(body))
		if b.places != 1 || string(b.data) != `{"a":"[redacted]"}` {
			t.Errorf("%s: %d places, %s", body, b.places, b.data)
		}
	}
}

func FuzzFinder(f *testing.F) {
	f.Add("she his hers he", "ushers and heres")
	f.Add("aaa aa aaaa", "aaaaaaa")
	f.Add("", "x")
	f.Fuzz(func(t *testing.T, words, text string) {
		var values [][]byte
		for _, w := range strings.Fields(words) {
			values = append(values, []byte(w))
		}
		finder, err := newFinder(values)
		if err != nil {
			return
		}
		covered := make([]bool, len(text))
		finder.find(text, func(from, to int) {
			if !slices.ContainsFunc(values, func(v []byte) bool { return string(v) == text[from:to] }) {
				t.Errorf("%q is none of %q", text[from:to], values)
			}
			for i := from; i < to; i++ {
				covered[i] = true
			}
		})
		for i := range text {
			for _, v := range values {
				if strings.HasPrefix(text[i:], string(v)) && slices.Contains(covered[i:i+len(v)], false) {
					t.Errorf("%q at %d of %q is not covered whole", v, i, text)
				}
			}
		}
	})
}

// A value is found in whatever way a text escapes it, and nothing of what stands
// around it is lost.
func FuzzSpellings(f *testing.F) {
	f.Add("tok-1", "a ", " b", uint8(0))
	f.Add("José 💳 \"<a&b>\" \\ /\n", `x\`, `\u00`, uint8(3))
	f.Add("100%41", "%4", "1", uint8(5))
	f.Fuzz(func(t *testing.T, value, front, back string, how uint8) {
		body, err := json.Marshal(map[string]string{"a": value})
		if err != nil || len(value) < minHidden || strings.Contains(front+back+value, "[") {
			return
		}
		b, r := hiding(t, []string{"/a"}, nil).body(body)
		value = rawjson.Text(must(json.Marshal(value))) // as a reader sees it
		spelled := value
		for range how % 3 {
			quoted, _ := json.Marshal(spelled)
			spelled = string(quoted[1 : len(quoted)-1])
		}
		said := b.text(r, front+spelled+back)
		if b.withheld == "" && !strings.Contains(said, hiddenText) {
			t.Errorf("%q in %q reads %q", value, front+spelled+back, said)
		}
		if b.withheld == "" && r.text(said) != said {
			t.Errorf("a second time %q reads %q", said, r.text(said))
		}
	})
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// A JSON document stays one, whatever is hidden in its values, and no hidden
// value is left in any of its strings.
func FuzzBody(f *testing.F) {
	f.Add(`{"a":"tok-1","b":["x tok-1 y",{"tok-1":1}],"c":4111111111111111}`, `\d{13,19}`)
	f.Add(`{"a":[1,{"b":"\ud83d\udcb3x"}],"c":"\\u0041\"","d":12}`, `\w+`)
	f.Fuzz(func(t *testing.T, body, pattern string) {
		re, err := regexp.Compile(pattern)
		if err != nil || rawjson.Check([]byte(body)) != nil {
			return
		}
		r := hiding(t, []string{"/a", "/*/b"}, nil)
		b, known := r.body([]byte(body))
		if b.withheld != "" {
			return
		}
		for token := range rawjson.Tokens(b.data) {
			text := rawjson.Text(b.data[token.From:token.To])
			for _, h := range sought(b.hidden) {
				if strings.Contains(strings.ReplaceAll(text, hiddenText, ""), string(h)) && !strings.Contains(hiddenText, string(h)) {
					t.Errorf("%s shows %q in %s", body, h, b.data)
				}
			}
		}
		if again := known.json(b.data); again != string(b.data) && rawjson.Check(b.data) == nil {
			t.Errorf("%s: a second time %s reads %s", body, b.data, again)
		}
		known.Redaction = policy.Redaction{Paths: r.Paths, Text: []*regexp.Regexp{re}}
		if s, err := shadowOf(&policy.Queue{Redact: known.Redaction}, []byte(body)); err == nil && rawjson.Check(s.doc) != nil {
			t.Errorf("the shadow of %s is no JSON: %s", body, s.doc)
		}
	})
}
