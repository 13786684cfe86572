package ledger

import (
	"strconv"
	"strings"
	"testing"
)

// No call reads all plans or items that there ever were, nor all of one place.
func TestQueriesUseIndexes(t *testing.T) {
	l, _ := newLedger(t)
	for _, query := range []string{
		dueQuery, pendingQuery, spokenForQuery, unconfirmedQuery, denialQuery, decisionQuery, lineage, replaysQuery, claimsQuery,
		planQuery(untold), planQuery(inStates), planQuery(lastEnded), planQuery(withPrefix), planQuery(`id = ?`), planQuery(`digest = ?`),
	} {
		args := make([]any, strings.Count(query, "?"))
		if strings.Contains(query, "?1") {
			args = args[:1]
			for strings.Contains(query, "?"+strconv.Itoa(len(args)+1)) {
				args = append(args, nil)
			}
		}
		rows, err := l.read.Query("EXPLAIN QUERY PLAN "+query, args...)
		must(t, err)
		for rows.Next() {
			var a, b, c any
			var step string
			must(t, rows.Scan(&a, &b, &c, &step))
			for _, all := range []string{"SCAN plans", "SCAN items", "SCAN i", "SCAN p", "SCAN batches"} {
				if step == all || strings.HasSuffix(step, "(place=?)") {
					t.Errorf("%s\nreads everything: %s", query, step)
				}
			}
		}
		must(t, rows.Close())
	}
}
