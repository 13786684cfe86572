package sqljobs

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// Formats of an error column.
const (
	formatText  = "text"
	formatJSON  = "json"
	formatJSONs = "jsonb_array"
	formatTexts = "text_array"
	formatBytes = "bytes"
)

// reason reads the stored error. Text that is not what the format says is
// shown whole: an error that cannot be read is still an error.
func (c ErrorColumn) reason(v value) backends.Reason {
	if v.kind == null || len(v.bytes) == 0 {
		return backends.Reason{Verdict: backends.Unknown, Source: "none"}
	}
	whole := v.String()
	r := backends.Reason{Message: backends.Hostile(whole), Verdict: backends.Unknown, Source: "row"}
	raw := json.RawMessage(v.bytes)
	if c.Format != formatJSON && c.Format != formatJSONs || !json.Valid(raw) {
		return r
	}
	if c.Format == formatJSONs {
		raw = c.pick(raw)
	}
	if message := textAt(raw, c.Path); message != "" {
		r.Message = backends.Hostile(message)
	}
	if len(c.Code) > 0 {
		r.Code = backends.Hostile(textAt(raw, c.Code))
	}
	if len(c.Stack) > 0 {
		r.Stack = backends.Hostile(textAt(raw, c.Stack))
	}
	return r
}

// on completes the format by the column's type. The database itself picks one
// element of an array, so that the element's own format counts.
func (c ErrorColumn) on(cat *catalog) ErrorColumn {
	col, _ := cat.column(c.Column)
	element, array := strings.CutSuffix(col.typ, "[]")
	isJSON := element == "json" || element == "jsonb"
	switch {
	case array && isJSON, c.Format == "" && isJSON:
		c.Format = formatJSON
	case array || c.Format == "":
		c.Format = formatText
	}
	return c
}

// pick takes one element of a JSON array that holds all errors of a job.
func (c ErrorColumn) pick(raw json.RawMessage) json.RawMessage {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil || len(all) == 0 {
		return raw
	}
	if c.Pick == "first" {
		return all[0]
	}
	return all[len(all)-1]
}

// textAt is the text at a path: a string, a list of strings as lines, or any
// other value as its own JSON. It is empty where the path leads nowhere.
func textAt(raw json.RawMessage, path []string) string {
	for _, step := range path {
		if raw = child(raw, step); raw == nil {
			return ""
		}
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var lines []string
	if json.Unmarshal(raw, &lines) == nil {
		return strings.Join(lines, "\n")
	}
	return string(raw)
}

func child(raw json.RawMessage, step string) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) == nil {
		return members[step]
	}
	var elements []json.RawMessage
	i, err := strconv.Atoi(step)
	if err != nil || json.Unmarshal(raw, &elements) != nil || i < 0 || i >= len(elements) {
		return nil
	}
	return elements[i]
}
