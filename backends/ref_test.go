package backends

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

type field struct {
	name  string
	value []byte
}

func envelopeOf(fields ...field) *Envelope {
	e := NewEnvelope(true)
	for _, f := range fields {
		e.Add(f.name, f.value)
	}
	return e
}

func TestEnvelopeTellsApart(t *testing.T) {
	for name, pair := range map[string][2][]field{
		"length of name":      {{{"a", []byte("bc")}}, {{"ab", []byte("c")}}},
		"length of value":     {{{"a", []byte("b")}, {"c", nil}}, {{"a", []byte("bc")}}},
		"absent and empty":    {{{"a", nil}}, {{"a", []byte{}}}},
		"absent and missing":  {{{"a", nil}}, {}},
		"order":               {{{"a", []byte("1")}, {"b", []byte("2")}}, {{"b", []byte("2")}, {"a", []byte("1")}}},
		"twice and once":      {{{"a", []byte("1")}, {"a", []byte("1")}}, {{"a", []byte("1")}}},
		"split value":         {{{"a", []byte("1")}, {"a", []byte("2")}}, {{"a", []byte("12")}}},
		"zero byte":           {{{"a", []byte{0}}}, {{"a", nil}}},
		"empty name":          {{{"", []byte("a")}}, {{"a", []byte("")}}},
		"nested look-alike":   {{{"a", envelopeOf(field{"b", nil}).Bytes()}}, {{"a", nil}, {"b", nil}}},
		"value in name space": {{{"a\x01", nil}}, {{"a", []byte{1}}}},
	} {
		a, b := envelopeOf(pair[0]...), envelopeOf(pair[1]...)
		if a.Digest() == b.Digest() || bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s: the same envelope", name)
		}
	}
}

// The bytes are pinned: digests are compared across versions of the program.
func TestEnvelopeBytes(t *testing.T) {
	e := envelopeOf(field{"id", []byte("7")}, field{"x", nil})
	const want = "0000000000000002" + "6964" + "01" + "0000000000000001" + "37" + "0000000000000001" + "78" + "00"
	if got := hex.EncodeToString(e.Bytes()); got != want {
		t.Errorf("bytes %s, want %s", got, want)
	}
	if e.Digest() != sha256.Sum256(e.Bytes()) {
		t.Error("the digest is not the SHA-256 of the bytes")
	}
}

func TestEnvelopeDigest(t *testing.T) {
	kept, lean := NewEnvelope(true), NewEnvelope(false)
	for _, e := range []*Envelope{kept, lean} {
		e.Add("a", []byte("1"))
	}
	first := kept.Digest()
	if lean.Digest() != first || lean.Bytes() != nil {
		t.Error("keeping the bytes changes the digest, or they are kept unasked")
	}
	if kept.Digest() != first {
		t.Error("reading the digest changes it")
	}
	kept.Add("b", nil)
	if kept.Digest() == first {
		t.Error("a field added after a digest does not count")
	}
}

func TestEnvelopeCopies(t *testing.T) {
	value := []byte("before")
	e := envelopeOf(field{"a", value})
	copy(value, "behind")
	if !bytes.Contains(e.Bytes(), []byte("before")) {
		t.Error("the envelope follows a value that its owner changes")
	}
}

func TestRefHex(t *testing.T) {
	r := Ref{Digest: [32]byte{0: 0xab, 31: 0x01}}
	if got := r.Hex(); len(got) != 64 || got[:2] != "ab" || got[62:] != "01" {
		t.Errorf("hex %q", got)
	}
	if a, b := (Ref{ID: "1", Mark: "x"}), (Ref{ID: "1", Mark: "y"}); a == b {
		t.Error("two deaths of one message are equal")
	}
}

// FuzzEnvelope looks for two lists of fields with one envelope.
func FuzzEnvelope(f *testing.F) {
	f.Add("a", "bc", "", "", false, false, "ab", "c", "", "", false, false)
	f.Add("a", "", "", "", true, true, "a", "", "", "", false, true)
	f.Add("a", "1", "b", "2", false, false, "b", "2", "a", "1", false, false)
	f.Fuzz(func(t *testing.T, n1, v1, n2, v2 string, nil1, nil2 bool, m1, w1, m2, w2 string, nil3, nil4 bool) {
		a := []field{fieldOf(n1, v1, nil1), fieldOf(n2, v2, nil2)}
		b := []field{fieldOf(m1, w1, nil3), fieldOf(m2, w2, nil4)}
		if !nil4 && w2 == "" && m2 == "" { // lists of unlike length, too
			b = b[:1]
		}
		one, other := envelopeOf(a...), envelopeOf(b...)
		if same := sameFields(a, b); same != (one.Digest() == other.Digest()) || same != bytes.Equal(one.Bytes(), other.Bytes()) {
			t.Errorf("%q and %q: same fields %v, but the envelopes say otherwise", a, b, same)
		}
	})
}

func fieldOf(name, value string, absent bool) field {
	if absent {
		return field{name: name}
	}
	return field{name, []byte(value)}
}

func sameFields(a, b []field) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].name != b[i].name || (a[i].value == nil) != (b[i].value == nil) || !bytes.Equal(a[i].value, b[i].value) {
			return false
		}
	}
	return true
}
