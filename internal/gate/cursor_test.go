package gate

import (
	"bytes"
	"encoding/base64"
	"testing"
	"unicode/utf8"
)

// FuzzCursor: a cursor that was given reads as what it was; one with any
// character changed, added or lost reads as none.
func FuzzCursor(f *testing.F) {
	secret := []byte("of one ledger")
	f.Add("orders", "2026-11-01T00:00:00Z", []byte{1, 2}, `["t2026","i7"]`, 0, byte('A'))
	f.Add("", "", []byte(nil), "", 43, byte('\n'))
	f.Add("a", "t", []byte{255}, "\x00\xff", -1, byte('='))
	f.Fuzz(func(t *testing.T, queue, asOf string, filter []byte, after string, at int, by byte) {
		c := cursor{queue, asOf, filter, after}
		text := c.encode(secret)
		got, ok := readCursor(secret, text)
		same := got.Queue == queue && got.AsOf == asOf && got.After == after && bytes.Equal(got.Filter, filter)
		if utf8.ValidString(queue) && utf8.ValidString(asOf) && utf8.ValidString(after) && !(ok && same) {
			t.Errorf("%+v was read as %+v, %v", c, got, ok)
		}
		if _, ok := readCursor([]byte("of another"), text); ok {
			t.Error("another ledger takes it")
		}
		for _, forged := range forgeries(text, at, by) {
			if _, ok := readCursor(secret, forged); ok && forged != text {
				t.Errorf("%q passes for %q", forged, text)
			}
		}
	})
}

func forgeries(text string, at int, by byte) []string {
	if at < 0 {
		at = -(at + 1)
	}
	at %= len(text)
	return []string{
		text[:at] + string(by) + text[at+1:], text[:at] + string(by) + text[at:], text[:at] + text[at+1:], text[:at],
		text + string(by), string(by) + text, text[at:] + text[:at],
	}
}

// FuzzForgedCursor: nothing that this ledger did not make is a cursor.
func FuzzForgedCursor(f *testing.F) {
	f.Add("")
	f.Add(base64.RawURLEncoding.EncodeToString([]byte(`00000000000000000000000000000000{"q":"orders"}`)))
	f.Add(cursor{Queue: "orders"}.encode([]byte("of another")))
	f.Fuzz(func(t *testing.T, text string) {
		if c, ok := readCursor([]byte("of one ledger"), text); ok {
			t.Errorf("%q is read as %+v", text, c)
		}
	})
}
