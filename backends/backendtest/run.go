package backendtest

import "testing"

// check is one promise of a store.
type check struct {
	name string
	run  func(testing.TB, Bench)
}

func checks() []check {
	return []check{
		{"facts", facts},
		{"order and positions", order},
		{"as of", asOf},
		{"ids", ids},
		{"bodies", bodies},
		{"fold", fold},
		{"depth", depth},
		{"target", target},
		{"errors", faults},
		{"redrive", redriveAll},
		{"redrive in batches", redriveBatches},
		{"guard", guard},
		{"patch", patch},
		{"journal refuses", journalRefuses},
		{"read after admit", readAfterAdmit},
		{"crash once", crashOnce},
		{"crash twice", crashTwice},
		{"crash ahead", crashAhead},
		{"cancel", cancelled},
		{"two at once", twoAtOnce},
		{"overtaken", overtaken},
	}
}

// Run holds a store against the suite.
func Run(t *testing.T, b Bench) {
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			c.run(t, b)
			b.Take(t)
		})
	}
}
