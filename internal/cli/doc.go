// Package cli is what a person types.
//
// Guarantee: every read and every request goes through the gate, as an agent's
// do; results stand on standard output and everything else on standard error;
// no text of a store reaches the terminal unsanitised; a command opens only
// what it needs.
//
// Limit: it believes the operating system about who types. What that is worth
// is the gate's to say, not this package's.
package cli
