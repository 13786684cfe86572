package sqljobs

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// payload describes the payload of a row. Without bodies the row holds the
// payload's size behind its columns.
func (m *mapping) payload(row []value, bodies bool) backends.Payload {
	p := backends.Payload{Size: -1, Provenance: backends.AsStored}
	if !bodies {
		if size := row[len(m.cat.columns)]; size.kind != null {
			p.Size = count(size)
		}
		p.ContentType = m.declared()
		p.Patchable = p.ContentType == typeJSON
		if !p.Patchable {
			p.WhyNot = "whether the payload can be patched is known only after reading it"
		}
		return p
	}
	v := m.named(row, m.jobs.Payload.Column)
	if v.kind == null {
		p.Size, p.WhyNot = 0, "there is no payload"
		return p
	}
	p.Bytes, p.Size = v.orEmpty(), len(v.bytes)
	p.ContentType, p.WhyNot = m.recognise(v)
	p.Patchable = p.WhyNot == ""
	return p
}

const (
	typeJSON  = "application/json"
	typeText  = "text/plain"
	typeBytes = "application/octet-stream"
)

// declared is the content type that the column's type promises.
func (m *mapping) declared() string {
	c, _ := m.cat.column(m.jobs.Payload.Column)
	switch {
	case c.typ == "json" || c.typ == "jsonb":
		return typeJSON
	case m.jobs.Payload.Format == formatBytes || c.blob:
		return typeBytes
	}
	return typeText
}

// recognise says what a payload is and, if it cannot be patched, why not.
// Objects that another language serialised are never decoded, let alone
// rewritten: decoding them can run code.
func (m *mapping) recognise(v value) (contentType, whyNot string) {
	switch m.jobs.Payload.Format {
	case formatText:
		return typeText, "the policy says that the payload is text"
	case formatBytes:
		return typeBytes, "the policy says that the payload is bytes"
	}
	if json.Valid(v.bytes) {
		return typeJSON, ""
	}
	if what := serialised(v.bytes); what != "" {
		return textOrBytes(v.bytes), "the payload is " + what + ", which is never decoded"
	}
	return textOrBytes(v.bytes), "the payload is not JSON"
}

func textOrBytes(b []byte) string {
	if utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 {
		return typeText
	}
	return typeBytes
}

// serialised names the format of another language's serialiser by its magic
// bytes: Java's stream (0xACED), Python's pickle (protocol 2 and later), Ruby's
// Marshal 4.8, PHP's serialize() and YAML documents.
func serialised(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte{0xac, 0xed}):
		return "a serialised Java object"
	case len(b) > 2 && b[0] == 0x80 && b[1] >= 2 && b[1] <= 5:
		return "a Python pickle"
	case bytes.HasPrefix(b, []byte{4, 8}):
		return "a Ruby Marshal dump"
	case bytes.HasPrefix(b, []byte("---")):
		return "YAML"
	case len(b) > 3 && bytes.IndexByte([]byte("aOCsibd"), b[0]) >= 0 && b[1] == ':':
		return "serialised by PHP"
	}
	return ""
}
