package stdio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
)

const (
	maxID   = 256 // bytes of a request's id
	maxTool = 128 // bytes of a tool's name, the protocol's own bound
)

// message is one message of a client, its parts as they were written.
type message struct {
	id     jsontext.Value // nil for a notification
	method string         // empty for an answer to a request
	params jsontext.Value // nil where there are none
	tool   string         // of tools/call
	args   jsontext.Value // of tools/call; nil where there are none
	size   int            // bytes of the line
}

// fault is a message that cannot be served, as JSON-RPC reports it.
type fault struct {
	code int
	why  string
}

// parse takes a line apart. With a fault the message holds what could be read,
// so that the answer can name the request.
func parse(line []byte) (message, *fault) {
	m := message{size: len(line)}
	parts, bad := members(line, "jsonrpc", "id", "method", "params", "result", "error")
	if bad != nil && bad.syntax {
		return m, &fault{mcp.PARSE_ERROR, "The message cannot be read: " + bad.why}
	}
	if err := m.setID(parts["id"]); err != nil {
		return m, err
	}
	if bad != nil {
		return m, &fault{mcp.INVALID_REQUEST, "The message is not accepted: " + bad.why}
	}
	if string(parts["jsonrpc"]) != `"2.0"` {
		return m, &fault{mcp.INVALID_REQUEST, `The message is not accepted: "jsonrpc" must be "2.0"`}
	}
	if parts["method"] == nil && (parts["result"] != nil || parts["error"] != nil) {
		return m, nil
	}
	method, ok := text(parts["method"])
	if !ok || method == "" {
		return m, &fault{mcp.INVALID_REQUEST, `The message is not accepted: "method" must be a string`}
	}
	m.method = method
	return m, m.setParams(parts["params"])
}

// setID keeps the id as it was written: numbers beyond 2^53 must come back as
// they came.
func (m *message) setID(id jsontext.Value) *fault {
	if id == nil {
		return nil
	}
	k := id.Kind()
	if k != '"' && (k != '0' || bytes.ContainsAny(id, ".eE")) || !id.IsValid() {
		return &fault{mcp.INVALID_REQUEST, `The message is not accepted: "id" must be a string or a whole number`}
	}
	if len(id) > maxID {
		return &fault{mcp.INVALID_REQUEST, fmt.Sprintf(`The message is not accepted: "id" is longer than %d bytes`, maxID)}
	}
	m.id = id
	return nil
}

// setParams keeps the params of other methods whole. The library decodes them, and
// so they may hold nothing that decoders read in two ways.
func (m *message) setParams(params jsontext.Value) *fault {
	if params == nil || params.Kind() == 'n' {
		if m.method == string(mcp.MethodToolsCall) {
			return &fault{mcp.INVALID_PARAMS, "The call is not accepted: it has no params"}
		}
		return nil
	}
	if params.Kind() != '{' {
		return &fault{mcp.INVALID_PARAMS, `The message is not accepted: "params" must be an object`}
	}
	if m.method == string(mcp.MethodToolsCall) {
		return m.setCall(params)
	}
	if !params.IsValid() {
		return &fault{mcp.INVALID_PARAMS, `The message is not accepted: "params" must be UTF-8 and name nothing twice`}
	}
	m.params = params
	return nil
}

// setCall keeps of a call's params its name, its arguments and its _meta.
// Everything else is dropped: an inputResponses or requestState that nobody
// asked for must not look like a person's answer, and this server runs no tasks.
func (m *message) setCall(params jsontext.Value) *fault {
	parts, bad := members(params, "name", "arguments", "_meta")
	if bad != nil {
		return &fault{mcp.INVALID_PARAMS, "The call is not accepted: " + bad.why}
	}
	name, ok := text(parts["name"])
	if !ok || name == "" || len(name) > maxTool {
		return &fault{mcp.INVALID_PARAMS, fmt.Sprintf(`The call is not accepted: "name" must be a string of 1 to %d bytes`, maxTool)}
	}
	m.tool, m.args = name, parts["arguments"]
	meta := parts["_meta"]
	if meta != nil && (meta.Kind() != '{' || !meta.IsValid()) {
		return &fault{mcp.INVALID_PARAMS, `The call is not accepted: "_meta" must be an object, UTF-8, and name nothing twice`}
	}
	m.params = callParams(name, meta)
	return nil
}

func callParams(name string, meta jsontext.Value) jsontext.Value {
	p, _ := jsontext.AppendQuote([]byte(`{"name":`), name)
	if meta != nil {
		p = append(append(p, `,"_meta":`...), meta...)
	}
	return append(p, '}')
}

// forServer writes the message anew for the server, from the parts that were
// checked and nothing else.
func (m *message) forServer() json.RawMessage {
	out := append([]byte(`{"jsonrpc":"2.0","id":`), m.id...)
	out, _ = jsontext.AppendQuote(append(out, `,"method":`...), m.method)
	if m.params != nil {
		out = append(append(out, `,"params":`...), m.params...)
	}
	return append(out, '}')
}

// key names the request in tables: equal ids have equal keys, and "1" is not 1.
func key(id jsontext.Value) string {
	if s, ok := text(id); ok {
		return "s" + s
	}
	return "n" + string(id)
}

// text is a JSON string's value.
func text(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	s, err := jsontext.AppendUnquote(nil, v)
	return string(s), err == nil
}

// label shows a client's own word in a record: as it is if it looks like a name,
// else quoted, and never long.
func label(s string) string {
	const most = 64
	plain := s != "" && len(s) <= most
	for _, c := range []byte(s) {
		plain = plain && (c == '_' || c == '-' || c == '/' || c == '.' || c == '$' ||
			'0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z')
	}
	switch {
	case plain:
		return s
	case len(s) > most:
		return strconv.QuoteToASCII(s[:most]) + "…"
	}
	return strconv.QuoteToASCII(s)
}
