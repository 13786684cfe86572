// Package tools is what an agent sees: an MCP server with eight tools over one
// pipe. Each tool is a file that says its name, texts, schemas, hints and which
// call of the gate it is.
//
// Guarantee: a tool does what the gate's agent may do and nothing else; there is
// no tool that approves, deletes, purges or changes policy. Arguments are decoded
// once, from the client's bytes, and refused where they do not fit the schema
// that the client was shown. Every message is in the audit log before it is
// answered, and is answered with an error if it cannot be. A failure is a result
// that a model can read; it holds neither a cause nor a way around the policy.
//
// Limit: who a client says it is, is written down and not proved.
package tools
