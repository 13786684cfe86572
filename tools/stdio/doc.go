// Package stdio carries MCP messages between a client's pipe and an
// [server.MCPServer]: one JSON object a line, as the protocol's stdio transport
// says.
//
// Guarantee: every message is told to [Options.Hear] before it is answered, and
// if that fails it is answered with nothing else. The answer to initialize is
// written before anything after it is read. Messages are taken in their order; a
// call whose cancellation was taken before it started does not start, and nothing
// is written for it. The end of the input does not cut off calls that are under
// way; [Options.Ended] is told of it while they are served. The arguments of a
// tool call reach its handler byte for byte.
//
// Limit: it speaks to one client, and it sends no requests and no progress of
// its own. A read that blocks when the context ends stays blocked until the
// input is closed.
package stdio
