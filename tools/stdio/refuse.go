package stdio

import (
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// failure is the answer to a request that was not carried out. A model reads a
// tool's failure only in a result, so a call gets one; other methods get an
// error of the protocol.
func (m *message) failure(why string) mcp.JSONRPCMessage {
	if m.method == string(mcp.MethodToolsCall) {
		return mcp.JSONRPCResponse{Result: mcp.NewToolResultError(why)}
	}
	return problem(mcp.INTERNAL_ERROR, why)
}

// readable puts right what the library says of bad params: its code, where a
// handler knows better, and a text that names the library's types.
func (m *message) readable(e mcp.JSONRPCError, c *Call) mcp.JSONRPCError {
	if c.badParams {
		e.Error.Code = mcp.INVALID_PARAMS
	}
	if strings.HasPrefix(e.Error.Message, "unparsable ") {
		e.Error.Code, e.Error.Message = mcp.INVALID_PARAMS, "The params of "+label(m.method)+" do not fit it"
	}
	return e
}

// heard is the record of a request, told by its answer.
func (m *message) heard(c *Call, answer mcp.JSONRPCMessage) Heard {
	h := Heard{Method: label(m.method), Err: c.refused}
	if m.tool != "" {
		h.Tool = label(m.tool)
	}
	if e, ok := answer.(mcp.JSONRPCError); ok && h.Err == "" {
		h.Err = words(e.Error.Code)
	}
	return h
}

// words says in our own what an error code means: the library's texts may hold
// the client's.
func words(code int) string {
	switch code {
	case mcp.METHOD_NOT_FOUND:
		return "no such method"
	case mcp.INVALID_PARAMS:
		return "bad parameters"
	case mcp.UNSUPPORTED_PROTOCOL_VERSION:
		return "unsupported protocol version"
	case mcp.INTERNAL_ERROR:
		return "internal error"
	}
	return "not a valid request"
}
