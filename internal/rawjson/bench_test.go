package rawjson_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
)

// members200 is a document of 200 small objects.
func members200() []byte {
	var b bytes.Buffer
	b.WriteString(`{"currency":"EU"`)
	for i := range 200 {
		fmt.Fprintf(&b, `,"k%d":{"id":%d,"s":"some text here"}`, i, 9007199254740993+i)
	}
	b.WriteString(`}`)
	return b.Bytes()
}

func BenchmarkCheck(b *testing.B) {
	for name, doc := range map[string][]byte{
		"200members": members200(),
		"10MiB":      []byte("[" + strings.Repeat(`{"id":9007199254740993,"s":"some text here"},`, 10<<20/44) + "0]"),
		"bomb":       bytes.Repeat([]byte("["), 10<<20),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				_ = rawjson.Check(doc)
			}
		})
	}
}

func BenchmarkReplace(b *testing.B) {
	doc, p, value := members200(), ptr(b, "/k199/id"), []byte("1")
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rawjson.Replace(doc, p, value); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMask(b *testing.B) {
	doc, pats, with := members200(), patterns(b, "/*/s", "/currency"), []byte(redacted)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := rawjson.Mask(doc, pats, with); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDiff(b *testing.B) {
	doc := members200()
	after := bytes.Replace(doc, []byte(`"EU"`), []byte(`"EUR"`), 1)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if changes, err := rawjson.Diff(doc, after); err != nil || len(changes) != 1 {
			b.Fatal(changes, err)
		}
	}
}
