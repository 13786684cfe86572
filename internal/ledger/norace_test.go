//go:build !race

package ledger

const oneIn = 1
