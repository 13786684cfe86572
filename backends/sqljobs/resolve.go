package sqljobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// Resolve finds out what became of tickets that were intended. The transaction
// behind a ticket wrote all its rows and its receipt, or none.
//
// First the rows of the ticket that are still dead are locked. While the old
// transaction is open, in the backend of an executor that was killed, it holds
// those locks, because it had locked its rows before it intended them, and to
// everybody else its rows are still dead. So when the locks are had, or no row
// is dead any more, that transaction is over.
//
// Only then is the receipt read, in a new snapshot. It is there: the
// transaction committed. It is not: the transaction did not commit, whatever
// the rows look like now, since a receipt is never removed while its ticket
// is in doubt.
//
// Without receipts only a row that is still dead under its Mark is a proof: it
// was not sent, and so none of its ticket was. That all are gone proves
// nothing, because anybody may have sent or deleted them.
func (s *Store) Resolve(ctx context.Context, queue string, doubts []backends.Doubt, j backends.Journal) error {
	m, err := s.sendable(ctx, queue)
	if err != nil {
		return err
	}
	byTicket := map[string][]backends.Doubt{}
	for _, d := range doubts {
		byTicket[d.Ticket] = append(byTicket[d.Ticket], d)
	}
	for _, ticket := range sortedKeys(byTicket) {
		outcomes, err := s.settleTicket(ctx, m, ticket, byTicket[ticket])
		if err != nil {
			return s.denied(ctx, m, nil, err)
		}
		if err := j.Record(ctx, outcomes...); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) settleTicket(ctx context.Context, m *mapping, ticket string, doubts []backends.Doubt) ([]backends.Outcome, error) {
	ids := make([]string, len(doubts))
	for i, d := range doubts {
		ids[i] = d.Ref.ID
	}
	possible, err := s.possible(ctx, send, m, ids)
	if err != nil {
		return nil, err
	}
	t, err := s.begin(ctx, send, m)
	if err != nil {
		return nil, err
	}
	defer t.rollback()
	marks, err := s.lockDead(ctx, t, m, possible)
	if err != nil {
		return nil, err
	}
	state, newIDs, err := s.verdict(ctx, t, m, ticket, doubts, marks)
	if err != nil {
		return nil, err
	}
	out := make([]backends.Outcome, len(doubts))
	for i, d := range doubts {
		out[i] = backends.Outcome{N: d.N, State: state}
		switch state {
		case backends.Done:
			out[i].NewID = newIDs[d.Ref.ID]
		case backends.Doubtful:
			out[i].Code = backends.NoAnswer
		}
	}
	return out, nil
}

// lockDead waits for the locks of all rows that are still dead and answers
// their Marks.
func (s *Store) lockDead(ctx context.Context, t tx, m *mapping, ids [][]value) (map[string]string, error) {
	marks := map[string]string{}
	if len(ids) == 0 {
		return marks, nil
	}
	q := m.having(m.rows(false), ids).add(m.d.wait)
	err := t.query(ctx, q, func(row []value) error {
		marks[idText(m.idOf(row))] = m.mark(row)
		return nil
	})
	return marks, err
}

func (s *Store) verdict(ctx context.Context, t tx, m *mapping, ticket string, doubts []backends.Doubt, marks map[string]string) (backends.State, map[string]string, error) {
	if s.receipts != nil {
		newIDs, there, err := s.readReceipt(ctx, t, m, ticket)
		if there {
			return backends.Done, newIDs, err
		}
		return backends.Claimed, nil, err
	}
	for _, d := range doubts {
		if mark, ok := marks[d.Ref.ID]; ok && mark == d.Ref.Mark {
			return backends.Claimed, nil, nil
		}
	}
	return backends.Doubtful, nil, nil
}

func (s *Store) readReceipt(ctx context.Context, t tx, m *mapping, ticket string) (newIDs map[string]string, there bool, err error) {
	q := m.d.stmt("SELECT new_ids FROM ").add(s.receipts.sql(), " WHERE ticket = ")
	q.add(q.bind(textValue(ticket)))
	err = t.query(ctx, q, func(row []value) error {
		there = true
		newIDs, err = parseReceipt(row[0].bytes)
		return err
	})
	return newIDs, there, err
}

// parseReceipt reads the new ids of a receipt, by the old ones. What is no object
// of texts is an error: others may write into the table, too.
func parseReceipt(text []byte) (newIDs map[string]string, err error) {
	err = json.Unmarshal(text, &newIDs)
	if err == nil && (newIDs == nil || !utf8.Valid(text)) {
		err = errors.New("no JSON object of texts")
	}
	if err != nil {
		return nil, fmt.Errorf("reading a receipt: %w", err)
	}
	return newIDs, nil
}

// makeReceipts makes the receipts table where the policy leaves that to us. It
// is committed before anything is intended: a table that is missing afterwards
// was taken away, and is no proof that nothing was sent.
func (s *Store) makeReceipts(ctx context.Context, m *mapping) error {
	if !s.makes || s.receipts == nil {
		return nil
	}
	t, err := s.begin(ctx, send, m)
	if err != nil {
		return err
	}
	defer t.rollback()
	_, err = t.exec(ctx, m.d.stmt("CREATE TABLE IF NOT EXISTS ").add(s.receipts.sql(),
		" (ticket TEXT NOT NULL PRIMARY KEY, sent_at TEXT NOT NULL, queue TEXT NOT NULL, items INTEGER NOT NULL, new_ids TEXT NOT NULL)"))
	if err != nil {
		return err
	}
	return t.commit(ctx)
}

func itoa(n int) string { return strconv.Itoa(n) }

func jsonObject(m map[string]string) string {
	raw, err := json.Marshal(m)
	if err != nil {
		return "{}"
	}
	return string(raw)
}
