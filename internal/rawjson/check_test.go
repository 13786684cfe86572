package rawjson_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
)

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestCheckRefuses(t *testing.T) {
	cases := []struct {
		doc  string
		kind string
		at   int64
	}{
		{"", rawjson.KindNotJSON, 0},
		{"  ", rawjson.KindNotJSON, 2},
		{"nul", rawjson.KindNotJSON, 0},
		{"nulll", rawjson.KindTrailing, 4},
		{"True", rawjson.KindNotJSON, 0},
		{"NaN", rawjson.KindNotJSON, 0},
		{"01", rawjson.KindTrailing, 1},
		{"+1", rawjson.KindNotJSON, 0},
		{"-", rawjson.KindNotJSON, 1},
		{"1.", rawjson.KindNotJSON, 2},
		{".5", rawjson.KindNotJSON, 0},
		{"1e", rawjson.KindNotJSON, 2},
		{"1e+", rawjson.KindNotJSON, 3},
		{"1e+-1", rawjson.KindNotJSON, 3},
		{"0x1", rawjson.KindTrailing, 1},
		{`"`, rawjson.KindNotJSON, 1},
		{`"\`, rawjson.KindNotJSON, 2},
		{`"\x"`, rawjson.KindNotJSON, 2},
		{`"\u12"`, rawjson.KindNotJSON, 3},
		{`"\u12g4"`, rawjson.KindNotJSON, 3},
		{"\"\n\"", rawjson.KindNotJSON, 1},
		{"\"\x00\"", rawjson.KindNotJSON, 1},
		{"\x00", rawjson.KindNotJSON, 0},
		{"1\x00", rawjson.KindTrailing, 1},
		{"[1,]", rawjson.KindNotJSON, 3},
		{"[,1]", rawjson.KindNotJSON, 1},
		{"[1 2]", rawjson.KindNotJSON, 3},
		{"[1", rawjson.KindNotJSON, 2},
		{"[1}", rawjson.KindNotJSON, 2},
		{`{"a"}`, rawjson.KindNotJSON, 4},
		{`{"a":}`, rawjson.KindNotJSON, 5},
		{`{"a":1,}`, rawjson.KindNotJSON, 7},
		{`{a:1}`, rawjson.KindNotJSON, 1},
		{`{1:1}`, rawjson.KindNotJSON, 1},
		{"\v1", rawjson.KindNotJSON, 0},
		{"\u00a01", rawjson.KindNotJSON, 0},
		{"\"\xc3\"", rawjson.KindUTF8, 1},
		{"[\"\u00e9\ufffd\xe2\x82\"]", rawjson.KindUTF8, 7},
		{`{"a":1,"b":2,"a":3}`, rawjson.KindDuplicate, 13},
		{`[{"a":{"x":1,"\u0078":2}}]`, rawjson.KindDuplicate, 13},
		{"1 1", rawjson.KindTrailing, 2},
		{"{}]", rawjson.KindTrailing, 2},
		{nested(1001), rawjson.KindTooDeep, 1000},
		{strings.Repeat(`{"a":`, 1001), rawjson.KindTooDeep, 5000},
		{strings.Repeat("[", 10<<20), rawjson.KindTooDeep, 1000},
	}
	for _, c := range cases {
		var bad *rawjson.SyntaxError
		if err := rawjson.Check([]byte(c.doc)); !errors.As(err, &bad) || bad.Kind != c.kind || bad.Offset != c.at {
			t.Errorf("Check(%.60q) = %v, want %s at byte %d", c.doc, err, c.kind, c.at)
		}
	}
}

func TestCheckAccepts(t *testing.T) {
	for _, doc := range []string{
		"0", "-0", "-0.0e-0", "1E+2", "123456789012345678901234567890", " null ", "true", "false", `""`,
		`"\"\\\/\b\f\n\r\t\u0000\uD83D\ude00"`, `"\ud800"`, `"\udc00\ud800"`, "\"\u007f\"", "[]", "[ ]", "{}", "{ }",
		"\t\r\n [ 1 , [ ] , { \"a\" : { } } ] ", `{"a":{"a":{"a":1}},"b":{"a":1}}`, nested(1000),
		`{"\ud800":1,"\ud801":2,"\ufffd":3}`,
	} {
		if err := rawjson.Check([]byte(doc)); err != nil {
			t.Errorf("Check(%.60q) = %v", doc, err)
		}
	}
}

// Names are first compared one by one and then through a map: both must see
// every duplicate, also beside nested objects with the same names.
func TestCheckFindsDuplicatesAnywhere(t *testing.T) {
	for size := 1; size < 40; size++ {
		var members []string
		for i := range size {
			members = append(members, fmt.Sprintf(`"k%d":{"k0":0,"k%d":1}`, i, i+1))
		}
		if err := rawjson.Check([]byte("{" + strings.Join(members, ",") + "}")); err != nil {
			t.Fatalf("%d members: %v", size, err)
		}
		for i := range size {
			doc := "{" + strings.Join(members, ",") + fmt.Sprintf(`,"\u006b%d":0}`, i)
			var bad *rawjson.SyntaxError
			if err := rawjson.Check([]byte(doc)); !errors.As(err, &bad) || bad.Kind != rawjson.KindDuplicate {
				t.Fatalf("%d members, %d twice: %v", size, i, err)
			}
		}
	}
}

func TestErrorsHoldNoDocumentText(t *testing.T) {
	const secret = "hunter2"
	for _, doc := range []string{
		`{"hunter2":1,"hunter2":2}`, `{"a":hunter2}`, `"hunter2" "hunter2"`, "\"hunter2\xff\"", `["hunter2"`,
	} {
		if err := rawjson.Check([]byte(doc)); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("Check(%q) = %v", doc, err)
		}
	}
	_, err := apply(`{"a":"hunter2","hunter2":1}`, `[{"op":"test","path":"/a","value":"x"}]`)
	if !errors.Is(err, rawjson.ErrTestFailed) || strings.Contains(err.Error(), secret) {
		t.Errorf("test operation: %v", err)
	}
}

// FuzzCheck compares with another strict reader of the same RFC.
func FuzzCheck(f *testing.F) {
	for _, c := range fidelity {
		f.Add(c.doc)
	}
	f.Add(`[1e5,-0.1E-2,"\u00e9\ud83d\ude00",{"":[]}]`)
	f.Fuzz(func(t *testing.T, doc string) {
		if strings.Contains(strings.ToLower(doc), `\ud`) {
			return // the other reader takes all lone surrogates for U+FFFD or refuses them
		}
		err := rawjson.Check([]byte(doc))
		var bad *rawjson.SyntaxError
		if err != nil && (!errors.As(err, &bad) || bad.Offset > int64(len(doc))) {
			t.Fatalf("Check(%q) = %v", doc, err)
		}
		if err != nil && bad.Kind == rawjson.KindTooDeep {
			return
		}
		if want := jsontext.Value(doc).IsValid(); want != (err == nil) {
			t.Fatalf("Check(%q) = %v, jsontext says %v", doc, err, want)
		}
	})
}
