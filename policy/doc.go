// Package policy reads the YAML file that says what may be redriven, by whom
// and under which limits, and decides single messages by it.
//
// Guarantee: deny by default. A file that is not understood in full is refused
// when it is loaded, with every fault found, each with file, line and a hint. A
// key that this build does not enforce is refused too, never ignored. The same
// file and the same facts give the same decision: there is no clock, no
// network and no randomness in it. A fact that nobody knows never loosens a
// decision.
//
// Limit: it decides and enforces nothing. Limits that count what was sent,
// approvals, redaction and pace are described here and kept by others. It
// knows no store: the sections that belong to one are decoded into structs
// that the caller hands in.
package policy
