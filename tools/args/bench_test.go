package args

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func BenchmarkDecode(b *testing.B) {
	s := sampleSchema(b)
	raw := jsontext.Value(`{"queue":"orders","ids":["1","2","3"],"limit":20,"filter":{"job":"send"},"merge_patch":{"a":9007199254740993}}`)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := Decode[sampleArgs](s, raw); err != nil {
			b.Fatal(err)
		}
	}
}
