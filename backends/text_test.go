package backends

import (
	"bytes"
	"encoding/json"
	"fmt"
	htmltemplate "html/template"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"text/template"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// secret holds what must never reach an output raw. After sanitising the
// escape, the override and the zero-width space are visible.
const (
	secret = "\x1b[31mpay\u202eload\u200b"
	safe   = `\x1b[31mpay\u202eload\u200b`
)

type (
	holder   struct{ t Text }
	open     struct{ T Text }
	embedded struct{ Text }
	pointed  struct{ T *Text }
)

// leaks reports whether raw characters of secret are in an output.
func leaks(out string) bool { return strings.ContainsAny(out, "\x1b\u202e\u200b") }

func TestTextPrinting(t *testing.T) {
	text := Hostile(secret)
	verbs := []string{
		"%v", "%+v", "%#v", "%s", "%q", "%+q", "%#q", "%x", "% x", "%X", "%d", "%c", "%U", "%p",
		"no verb", "%t", "%e", "%w", "%z", "%T", "%10s", "%-3v", "%.2s", "%[2]v", "%*v",
	}
	values := map[string]any{
		"text": text, "pointer": &text, "slice": []Text{text}, "map": map[string]Text{"k": text},
		"open": open{text}, "open pointer": &open{text}, "holder": holder{text}, "holder pointer": &holder{text},
		"embedded": embedded{text}, "pointed": pointed{&text}, "any": []any{text, holder{text}},
		"reason": Reason{Message: text, Stack: text}, "array": [1]Text{text},
	}
	for name, value := range values {
		for _, verb := range verbs {
			if out := fmt.Sprintf(verb, value); leaks(out) {
				t.Errorf("%s of %s leaks: %q", verb, name, out)
			}
		}
		if out := fmt.Sprint(value) + fmt.Sprintln(value); leaks(out) {
			t.Errorf("printing %s leaks: %q", name, out)
		}
	}
}

func TestTextForms(t *testing.T) {
	text := Hostile(secret)
	for verb, want := range map[string]string{
		"%v": safe, "%s": safe, "%+v": safe, "%#v": safe, "%x": safe, "%d": safe,
		"%q": `"\\x1b[31mpay\\u202eload\\u200b"`, "%T": "backends.Text",
	} {
		if got := fmt.Sprintf(verb, text); got != want {
			t.Errorf("%s: got %s, want %s", verb, got, want)
		}
	}
	if text.String() != safe || text.Raw() != secret {
		t.Errorf("String %q, Raw %q", text.String(), text.Raw())
	}
	err := fmt.Errorf("reading: %w", fmt.Errorf("%v", text))
	if err.Error() != "reading: "+safe {
		t.Errorf("error: %q", err.Error())
	}
}

func TestTextUnexported(t *testing.T) {
	plain := holder{Hostile("plain words")}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if out := fmt.Sprintf(verb, plain); strings.Contains(out, "plain") || strings.Contains(out, fmt.Sprintf("%x", "plain")) {
			t.Errorf("%s shows an unexported Text: %s", verb, out)
		}
	}
}

func TestTextIsNotCompared(t *testing.T) {
	if reflect.TypeFor[Text]().Comparable() {
		t.Error("texts can be compared, which would compare addresses")
	}
	if !(Text{}).IsZero() || !Hostile("").IsZero() || Hostile("x").IsZero() || (Text{}).String() != "" || (Text{}).Raw() != "" {
		t.Error("the zero text is not the empty text")
	}
}

func TestTextJSON(t *testing.T) {
	text := Hostile(secret + "\xff<")
	for name, value := range map[string]any{
		"text": text, "pointer": &text, "open": open{text}, "pointed": pointed{&text}, "embedded": embedded{text},
		"slice": []Text{text}, "values": map[string]Text{"k": text}, "any": []any{text},
	} {
		out, err := json.Marshal(value)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if leaks(string(out)) || !bytes.Contains(out, []byte(`\\x1b[31m`)) || !bytes.Contains(out, []byte(`\\xff`)) {
			t.Errorf("%s: %s", name, out)
		}
		// A decoder must not get the raw characters back either.
		var back any
		if err := json.Unmarshal(out, &back); err != nil || leaks(fmt.Sprint(back)) {
			t.Errorf("%s decodes to %q, %v", name, fmt.Sprint(back), err)
		}
	}
}

func TestTextYAML(t *testing.T) {
	text := Hostile(secret)
	for name, value := range map[string]any{
		"text": text, "open": open{text}, "pointed": pointed{&text}, "slice": []Text{text},
		"values": map[string]Text{"k": text},
	} {
		out, err := yaml.Marshal(value)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var back any
		if err := yaml.Unmarshal(out, &back); err != nil || leaks(fmt.Sprint(back)) {
			t.Errorf("%s decodes to %q, %v", name, fmt.Sprint(back), err)
		}
		if !strings.Contains(fmt.Sprint(back), safe) {
			t.Errorf("%s: %s", name, out)
		}
	}
}

func TestTextTemplates(t *testing.T) {
	data := map[string]any{"T": Hostile(secret + "<b>"), "S": open{Hostile(secret)}, "P": &open{Hostile(secret)}}
	const source = `{{.T}} {{.S}} {{.P}} {{.S.T}} {{printf "%s %v %q" .T .S .T}} {{print .T}}`
	var plain, page strings.Builder
	if err := template.Must(template.New("").Parse(source)).Execute(&plain, data); err != nil {
		t.Fatal(err)
	}
	if err := htmltemplate.Must(htmltemplate.New("").Parse(source)).Execute(&page, data); err != nil {
		t.Fatal(err)
	}
	for name, out := range map[string]string{"text": plain.String(), "html": page.String()} {
		if leaks(out) || !strings.Contains(out, safe) {
			t.Errorf("%s template: %q", name, out)
		}
	}
	if strings.Contains(page.String(), "<b>") {
		t.Errorf("html template does not escape: %q", page.String())
	}
}

func TestTextLogging(t *testing.T) {
	var out bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("m", "text", Hostile(secret), "open", open{Hostile(secret)}, "holder", holder{Hostile(secret)})
	}
	if leaks(out.String()) || !strings.Contains(out.String(), "pay") {
		t.Errorf("log: %q", out.String())
	}
}

func TestSanitise(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"empty":               {"", ""},
		"ascii":               {"plain {\"a\": 1} ~", "plain {\"a\": 1} ~"},
		"tab and newline":     {"a\tb\nc", "a\tb\nc"},
		"carriage return":     {"real\rfake", `real\x0dfake`},
		"crlf":                {"a\r\nb", "a\\x0d\nb"},
		"nul":                 {"a\x00b", `a\x00b`},
		"backspace and del":   {"a\b\x7f", `a\x08\x7f`},
		"ansi colour":         {"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		"ansi title":          {"\x1b]0;owned\a", `\x1b]0;owned\x07`},
		"c1 csi":              {"\u009b31m", `\x9b31m`},
		"c1 next line":        {"a\u0085b", `a\x85b`},
		"raw byte of c1":      {"\x9b31m", `\x9b31m`},
		"soft hyphen":         {"pass\u00adword", `pass\xadword`},
		"invalid utf-8":       {"a\xff\xc3b", `a\xff\xc3b`},
		"overlong":            {"\xc0\xaf", `\xc0\xaf`},
		"surrogate":           {"\xed\xa0\x80", `\xed\xa0\x80`},
		"replacement":         {"a\ufffdb", "a\ufffdb"},
		"line separator":      {"a\u2028b\u2029c", `a\u2028b\u2029c`},
		"tags":                {"hi\U000e0068\U000e0069", `hi\U000e0068\U000e0069`},
		"tag begin and end":   {"\U000e0001\U000e007f", `\U000e0001\U000e007f`},
		"variation selectors": {"a\ufe00\ufe0f\U000e0100\U000e01ef", `a\ufe00\ufe0f\U000e0100\U000e01ef`},
		"mongolian selectors": {"\u180b\u180c\u180d\u180e\u180f", `\u180b\u180c\u180d\u180e\u180f`},
		"blank letters":       {"\u115f\u1160\u17b4\u17b5\u3164\uffa0\u034f", `\u115f\u1160\u17b4\u17b5\u3164\uffa0\u034f`},
		"blank symbols":       {"\u2800\U0001d159\U00013441\U00016fe4", `\u2800\U0001d159\U00013441\U00016fe4`},
		"arabic letter mark":  {"\u061c", `\u061c`},
		"annotation":          {"\ufff9\ufffa\ufffb", `\ufff9\ufffa\ufffb`},
		"private use":         {"\ue000\U000f0000", `\ue000\U000f0000`},
		"noncharacter":        {"\uffff\U0010ffff", `\uffff\U0010ffff`},
		"emoji":               {"ok 👍", "ok 👍"},
		"emoji with joiner":   {"👩\u200d🚀", `👩\u200d🚀`},
		"emoji with selector": {"❤\ufe0f", `❤\ufe0f`},
		"accents":             {"Zoë café e\u0301", "Zoë café e\u0301"},
		"cjk":                 {"支払い失敗 결제 支付", "支払い失敗 결제 支付"},
		"arabic and hebrew":   {"فشل الدفع תשלום", "فشل الدفع תשלום"},
		"devanagari":          {"भुगतान विफल", "भुगतान विफल"},
		"wide spaces":         {"a\u00a0b\u3000c", "a\u00a0b\u3000c"},
		"own escapes":         {`\x1b \u202e`, `\x1b \u202e`},
	} {
		if got := Sanitise(c.in); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestSanitiseRanges(t *testing.T) {
	for _, r := range [][2]rune{
		{0, 8}, {0xb, 0x1f}, {0x7f, 0x9f}, {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x2064}, {0x2066, 0x206f},
		{0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xe0000, 0xe007f}, {0xe0100, 0xe01ef}, {0xfff0, 0xfffb},
	} {
		for c := r[0]; c <= r[1]; c++ {
			if out := Sanitise("a" + string(c)); strings.ContainsRune(out, c) || !strings.HasPrefix(out, `a\`) {
				t.Errorf("U+%04X becomes %q", c, out)
			}
		}
	}
}

func FuzzSanitise(f *testing.F) {
	for _, s := range []string{"", "plain", secret, "\xff\xfe", "👩\u200d🚀", "\u0085", "\U000e0041", "a\r\nb", `\x1b`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := Sanitise(s)
		if !utf8.ValidString(out) {
			t.Fatalf("invalid UTF-8: %q", out)
		}
		for _, r := range out {
			if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp) {
				t.Errorf("U+%04X in %q", r, out)
			}
			if unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
				t.Errorf("invisible U+%04X in %q", r, out)
			}
		}
		if again := Sanitise(out); again != out {
			t.Errorf("not idempotent: %q, then %q", out, again)
		}
		if printable(s) && out != s {
			t.Errorf("plain ASCII changed: %q to %q", s, out)
		}
	})
}

func printable(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '\n' && c != '\t' && (c < ' ' || c > '~') {
			return false
		}
	}
	return true
}

func BenchmarkSanitise(b *testing.B) {
	for name, s := range map[string]string{
		"ascii":   strings.Repeat("order 42 was declined by the bank\n", 30),
		"accents": strings.Repeat("zahlung für café abgelehnt\n", 30),
		"hostile": strings.Repeat("\x1b[31mred\u202e", 100),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				Sanitise(s)
			}
		})
	}
}
