// Package args reads the arguments of a tool call.
//
// Guarantee: one set of bytes is checked and decoded. Names are case-sensitive,
// no name stands twice at any depth, nothing unknown is passed over, the text is
// UTF-8, and every value fits the input schema that the client was shown. What
// does not fit is told in a sentence that names the argument, what it must be
// and what it is.
//
// Limit: it knows the schema keywords that the tools use and refuses to read a
// schema with another one. What depends on more than one argument, or on the
// policy, is the gate's to say.
package args
