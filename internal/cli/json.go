package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// printJSON writes v, indented. Ids are exact: a character that must not reach
// a terminal (an escape, a bidirectional override) is written as \uXXXX.
func (u *ui) printJSON(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	_, err := u.out.Write(escapeHidden(b.Bytes()))
	return err
}

func escapeHidden(in []byte) []byte {
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); {
		r, n := utf8.DecodeRune(in[i:])
		if s := string(r); r < 0x7f || backends.Sanitise(s) == s {
			out = append(out, in[i:i+n]...)
		} else if r > 0xffff {
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		} else {
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += n
	}
	return out
}
