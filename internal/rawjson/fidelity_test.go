package rawjson_test

import (
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
)

// fidelity lists documents and what must become of them when /cur is set to
// EUR; an empty want means that the document is refused.
var fidelity = []struct{ name, doc, want string }{
	{"big id", `{"id":9007199254740993,"cur":"EU"}`, `{"id":9007199254740993,"cur":"EUR"}`},
	{"huge exponent", `{"n":1e400,"cur":"EU"}`, `{"n":1e400,"cur":"EUR"}`},
	{"spellings of numbers", `{"a":1.10,"b":-0,"c":1E+2,"cur":"EU"}`, `{"a":1.10,"b":-0,"c":1E+2,"cur":"EUR"}`},
	{"key order", `{"z":1,"cur":"EU","a":2}`, `{"z":1,"cur":"EUR","a":2}`},
	{"white space", "{ \"a\" : 1 ,\n  \"cur\" : \"EU\" }\n", "{ \"a\" : 1 ,\n  \"cur\" : \"EUR\" }\n"},
	{"space around", "\r\n\t {\"cur\":\"EU\"} \n", "\r\n\t {\"cur\":\"EUR\"} \n"},
	{"html", `{"h":"<b>&</b>","cur":"EU"}`, `{"h":"<b>&</b>","cur":"EUR"}`},
	{"escapes", `{"h":"\u00e9\/\u2028","cur":"EU"}`, `{"h":"\u00e9\/\u2028","cur":"EUR"}`},
	{"raw line separator", "{\"h\":\"\u2028\",\"cur\":\"EU\"}", "{\"h\":\"\u2028\",\"cur\":\"EUR\"}"},
	{"lone surrogate", `{"h":"\ud800","cur":"EU"}`, `{"h":"\ud800","cur":"EUR"}`},
	{"lone surrogate names", `{"\ud800":1,"\udfff":2,"\ufffd":3,"cur":"EU"}`, `{"\ud800":1,"\udfff":2,"\ufffd":3,"cur":"EUR"}`},
	{"escaped key", `{"c\u0075r":"EU"}`, `{"c\u0075r":"EUR"}`},
	{"empty key", `{"":{"":0},"cur":"EU"}`, `{"":{"":0},"cur":"EUR"}`},
	{"same name deeper", `{"o":{"cur":"EU"},"cur":"EU"}`, `{"o":{"cur":"EU"},"cur":"EUR"}`},
	{"container replaced", `{"cur":{"a":[1,2]} ,"b":[ ]}`, `{"cur":"EUR" ,"b":[ ]}`},
	{"dup elsewhere", `{"a":1,"a":2,"cur":"EU"}`, ""},
	{"dup target", `{"cur":"XX","cur":"EU"}`, ""},
	{"dup nested", `{"o":{"k":1,"k":2},"cur":"EU"}`, ""},
	{"dup by escape", `{"cur":"EU","c\u0075r":"XX"}`, ""},
	{"dup of a surrogate pair", `{"😀":1,"\ud83d\ude00":2,"cur":"EU"}`, ""},
	{"dup of a lone surrogate", `{"\uD800":1,"\ud800":2,"cur":"EU"}`, ""},
	{"invalid utf8", "{\"h\":\"\xff\",\"cur\":\"EU\"}", ""},
	{"encoded surrogate", "{\"h\":\"\xed\xa0\x80\",\"cur\":\"EU\"}", ""},
	{"byte order mark", "\ufeff{\"cur\":\"EU\"}", ""},
	{"trailing", `{"cur":"EU"} {"x":1}`, ""},
	{"truncated", `{"cur":"EU"`, ""},
	{"comment", `{"cur":"EU"/**/}`, ""},
	{"not json", `cur=EU`, ""},
}

func TestFidelity(t *testing.T) {
	const patch = `[{"op":"replace","path":"/cur","value":"EUR"}]`
	ways := map[string]func([]byte) ([]byte, error){
		"Replace": func(doc []byte) ([]byte, error) { return rawjson.Replace(doc, ptr(t, "/cur"), []byte(`"EUR"`)) },
		"Add":     func(doc []byte) ([]byte, error) { return rawjson.Add(doc, ptr(t, "/cur"), []byte(` "EUR" `)) },
		"Apply":   func(doc []byte) ([]byte, error) { return apply(string(doc), patch) },
		"Merge":   func(doc []byte) ([]byte, error) { return rawjson.MergePatch(doc, []byte(`{"cur":"EUR"}`)) },
		"Mask": func(doc []byte) ([]byte, error) {
			out, _, err := rawjson.Mask(doc, patterns(t, "/cur"), []byte(`"EUR"`))
			return out, err
		},
	}
	for _, c := range fidelity {
		for way, do := range ways {
			doc := []byte(c.doc)
			got, err := do(doc)
			if string(doc) != c.doc {
				t.Errorf("%s, %s: the document itself was written to", c.name, way)
			}
			if c.want == "" && err == nil {
				t.Errorf("%s, %s: got %q, want it refused", c.name, way, got)
			}
			if c.want != "" && (err != nil || string(got) != c.want) {
				t.Errorf("%s, %s: got %q, %v, want %q", c.name, way, got, err, c.want)
			}
		}
	}
}

func ptr(t testing.TB, s string) rawjson.Pointer {
	t.Helper()
	p, err := rawjson.ParsePointer(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func patterns(t testing.TB, texts ...string) []rawjson.Pattern {
	t.Helper()
	var list []rawjson.Pattern
	for _, s := range texts {
		pat, err := rawjson.ParsePattern(s)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, pat)
	}
	return list
}

func apply(doc, patch string) ([]byte, error) {
	p, err := rawjson.ParsePatch([]byte(patch))
	if err != nil {
		return nil, err
	}
	return p.Apply([]byte(doc))
}
