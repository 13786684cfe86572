package sqljobs

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// kind is how a value is stored. Postgres has only texts and blobs here: it
// prints every other type as text.
type kind byte

const (
	null   kind = 0
	text   kind = 't'
	number kind = 'i'
	real   kind = 'r'
	blob   kind = 'b'
)

// value is one column of one row, spelled as the database prints it.
type value struct {
	kind  kind
	bytes []byte
}

func textValue(s string) value { return value{text, []byte(s)} }

// String is the value as people and ids see it: blobs in hexadecimal.
func (v value) String() string {
	if v.kind == blob {
		return `\x` + hex.EncodeToString(v.bytes)
	}
	return string(v.bytes)
}

// orEmpty are the bytes, nil for NULL alone.
func (v value) orEmpty() []byte {
	if v.kind != null && v.bytes == nil {
		return []byte{}
	}
	return v.bytes
}

// clone makes a value that outlives the row that it came from.
func (v value) clone() value { return value{v.kind, bytes.Clone(v.bytes)} }

// idText spells an id: a single column as the database prints it, several as
// a JSON array of texts.
func idText(parts []value) string {
	if len(parts) == 1 {
		return parts[0].String()
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.String()
	}
	return jsonArray(texts)
}

func jsonArray(texts []string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(texts) // a list of strings into memory cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

// idValues reads an id that idText spelled. blobs says which columns hold
// bytes. It fails for what cannot be an id of this shape.
func idValues(id string, blobs []bool) ([]value, bool) {
	texts := []string{id}
	if len(blobs) > 1 {
		texts = nil
		if json.Unmarshal([]byte(id), &texts) != nil || len(texts) != len(blobs) || jsonArray(texts) != id {
			return nil, false
		}
	}
	out := make([]value, len(texts))
	for i, t := range texts {
		out[i] = textValue(t)
		if digits, ok := strings.CutPrefix(t, `\x`); ok && blobs[i] {
			raw, err := hex.DecodeString(digits)
			if err != nil {
				return nil, false
			}
			out[i] = value{blob, raw}
		}
	}
	return out, true
}

// position spells the sort key of a row, so that a later scan can go on.
func position(key []value) string {
	texts := make([]string, len(key))
	for i, v := range key {
		texts[i] = string(v.kind) + v.String()
		if v.kind == text && !utf8.Valid(v.bytes) { // SQLite keeps what JSON cannot spell
			texts[i] = "h" + hex.EncodeToString(v.bytes)
		}
	}
	return jsonArray(texts)
}

// parsePosition reads what position spelled.
func parsePosition(s string, columns int) ([]value, bool) {
	var texts []string
	if json.Unmarshal([]byte(s), &texts) != nil || len(texts) != columns {
		return nil, false
	}
	key := make([]value, columns)
	for i, t := range texts {
		if t == "" || !strings.ContainsRune("tirbh", rune(t[0])) {
			return nil, false
		}
		key[i] = value{kind(t[0]), []byte(t[1:])}
		if t[0] != 'b' && t[0] != 'h' {
			continue
		}
		raw, err := hex.DecodeString(strings.TrimPrefix(t[1:], `\x`))
		if err != nil {
			return nil, false
		}
		if key[i].bytes = raw; t[0] == 'h' {
			key[i].kind = text
		}
	}
	return key, true
}
