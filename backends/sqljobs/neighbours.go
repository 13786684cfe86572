package sqljobs

import (
	"fmt"
	"sync"
)

// neighbours are the tables that the backends of one policy lead to. A backend
// that takes a whole table for one queue and one that splits it by its queue
// column share letters, and yet have no physical queue in common, on which
// limits are counted. No policy shows that: it is seen when both are connected.
type neighbours struct {
	mu     sync.Mutex
	splits map[string]map[string]bool // table -> backend -> whether it splits the table
}

// meet notes what a backend makes of a table, and warns of backends that make
// something else of it.
func (n *neighbours) meet(table, backend string, split bool) (warnings []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.splits == nil {
		n.splits = map[string]map[string]bool{}
	}
	if n.splits[table] == nil {
		n.splits[table] = map[string]bool{}
	}
	n.splits[table][backend] = split
	for _, other := range sortedKeys(n.splits[table]) {
		if n.splits[table][other] != split {
			warnings = append(warnings, fmt.Sprintf("the backends %s and %s lead to one table, and only one of them maps jobs.queue: they share letters, but limits are counted for each apart; map jobs.queue in both", other, backend))
		}
	}
	return warnings
}
