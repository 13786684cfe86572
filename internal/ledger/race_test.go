//go:build race

package ledger

// oneIn is which part of the pairs of callers is tried. The race detector makes
// SQLite, which is Go, twenty times slower, and looks into one process only; so
// testdata/test.sh tries them all without it.
const oneIn = 10
