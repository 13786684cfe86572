package gate

import (
	"bytes"
	"fmt"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// maxDenials is how many denials of one death of a letter people have to give
// before agents may not request it in any form. Another change is another
// proposal, but no program can tell a better one from a trivial one.
const maxDenials = 3

// denied says why an agent may not request a letter with this body, "" if no
// denial stands against it. A denial stands against the same proposal, that is
// the letter as stored or with the same change as far as it is shown.
func denied(q *policy.Queue, l *backends.DeadLetter, denials []ledger.Denial, body []byte) string {
	var holds []ledger.Denial
	for _, d := range denials {
		if d.Mark == l.Mark {
			holds = append(holds, d)
		}
	}
	for _, d := range holds {
		if sameProposal(q, l.Payload.Bytes, d.Body, body) {
			return fmt.Sprintf("a person denied it in %s (%s); it may be requested again after %s", d.Plan, quote(d.Why), stamp(d.Until))
		}
	}
	if len(holds) < maxDenials {
		return ""
	}
	d := holds[0]
	return fmt.Sprintf("people denied it %d times, also in %s (%s); it may be requested again after %s", len(holds), d.Plan, quote(d.Why), stamp(holds[maxDenials-1].Until))
}

// sameProposal reports whether two bodies, nil for the stored one, propose the
// same to whoever may not see hidden values. The answer depends on none of them,
// neither on the letter's own nor on one that a change sets: else each denial
// would answer a guess.
func sameProposal(q *policy.Queue, stored, a, b []byte) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	s, err := shadowOf(q, stored)
	if err != nil {
		s = shadow{} // such a letter takes whole bodies only, which hold nothing of it
	}
	a, b = proposed(q, s.veils, a), proposed(q, s.veils, b)
	return bytes.Equal(a, b) || rawjson.Equal(a, b)
}

// proposed is a new body with stand-ins for what is hidden in it by its place,
// in the letter (veils) or by a pattern.
func proposed(q *policy.Queue, veils []rawjson.Pattern, body []byte) []byte {
	for _, places := range [][]rawjson.Pattern{q.Redact.Paths, veils} {
		if masked, _, err := rawjson.Mask(body, places, []byte(standIn)); err == nil {
			body = masked
		}
	}
	byPattern := policy.Redaction{Text: q.Redact.Text}
	if s, err := shadowOf(&policy.Queue{Redact: byPattern}, body); err == nil {
		return s.doc
	}
	return []byte(redactor{Redaction: byPattern}.json(body))
}
