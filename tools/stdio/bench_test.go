package stdio

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"testing"
)

// BenchmarkCall is one call after the other, from the client's line to the
// answer's.
func BenchmarkCall(b *testing.B) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	hear := func(context.Context, Heard) error { return nil }
	p := &peer{}
	go Serve(b.Context(), p.server(), inR, outW, Options{Hear: hear})
	out := bufio.NewReader(outR)
	n := 0
	for b.Loop() {
		n++
		io.WriteString(inW, call(fmt.Sprint(n), "echo", `{"queue":"orders","limit":20}`))
		if _, err := out.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	inW.Close()
}

func BenchmarkParse(b *testing.B) {
	line := []byte(call("7", "echo", `{"queue":"orders","filter":{"error_class":"transient"},"limit":20}`))
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, bad := parse(line); bad != nil {
			b.Fatal(bad)
		}
	}
}
