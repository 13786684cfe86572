package gate

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
)

// cursor is where a listing goes on. It carries what it was a listing of, and a
// code that only this ledger can make: a forged or borrowed one is refused.
type cursor struct {
	Queue  string `json:"q"`
	AsOf   string `json:"t"`
	Filter []byte `json:"f"` // digest of the filter
	After  string `json:"a"`
}

func (c cursor) encode(secret []byte) string {
	data, err := json.Marshal(c)
	if err != nil {
		return "" // strings and bytes always marshal
	}
	return base64.RawURLEncoding.EncodeToString(append(mac(secret, data), data...))
}

// readCursor takes what encode gave and nothing else: base64 passes over line
// breaks and spare bits.
func readCursor(secret []byte, text string) (c cursor, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) < sha256.Size {
		return c, false
	}
	data := raw[sha256.Size:]
	if !hmac.Equal(raw[:sha256.Size], mac(secret, data)) {
		return c, false
	}
	return c, json.Unmarshal(data, &c) == nil && c.encode(secret) == text
}

func mac(secret, data []byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte("cursor"))
	h.Write(data)
	return h.Sum(nil)
}
