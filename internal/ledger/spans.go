package ledger

import "slices"

// span are the items from one number to another, both included. A batch is one
// span or a few: a walk along them takes half the time of a search for each
// number.
type span struct{ from, to int }

func spansOf(ns []int) (out []span) {
	for _, n := range slices.Sorted(slices.Values(ns)) {
		if last := len(out) - 1; last >= 0 && n <= out[last].to+1 {
			out[last].to = n
		} else {
			out = append(out, span{n, n})
		}
	}
	return out
}

// spread executes a statement for every span, which it finds as ?1 and ?2, and
// counts the rows that were changed.
func (t *txn) spread(spans []span, query string, args ...any) (changed int, err error) {
	stmt, err := t.Prepare(query)
	if err != nil {
		return 0, err
	}
	defer stmt.Close()
	for _, s := range spans {
		res, err := stmt.Exec(append([]any{s.from, s.to}, args...)...)
		if err != nil {
			return 0, err
		}
		n, _ := res.RowsAffected()
		changed += int(n)
	}
	return changed, nil
}
