package audit

import "time"

// chain is where the log stands and what the next record continues.
type chain struct {
	next  uint64    // seq of the next record
	prev  string    // hash of the last one
	log   string    // the log's id, empty before record 0
	ts    time.Time // of the last one
	phase string    // of the last one
}

func (c *chain) head() Head { return Head{Seq: c.next - 1, Hash: c.prev, Log: c.log} }

// add appends the lines of one record: one, or as many as its items need.
func (c *chain) add(buf []byte, r Record, now time.Time) []byte {
	items, limit := r.Items, maxString
	for {
		r.Items = items[:min(len(items), MaxItems)]
		r.Seq, r.Prev, r.Log, r.TS = c.next, c.prev, c.log, c.later(now)
		line, hash := appendRecord(buf, &r, limit)
		if len(line)-len(buf) > MaxLine {
			line, hash, limit = shrink(buf, &r, limit)
		}
		c.advance(&r, hash)
		buf, items = line, items[len(r.Items):]
		if len(items) == 0 {
			return buf
		}
	}
}

// shrink appends a record that is too long for a line: strings are cut until
// the record without its items leaves half a line for them, then as many items
// are kept as fit. It ends because a record fits whose strings have one rune.
func shrink(buf []byte, r *Record, limit int) (line []byte, hash string, used int) {
	bare := *r
	bare.Items = nil
	for fits := false; !fits && limit > 1; {
		line, _ = appendRecord(nil, &bare, limit)
		if fits = len(line) <= MaxLine/2; !fits {
			limit /= 2
		}
	}
	used = limit
	for {
		line, hash = appendRecord(buf, r, limit)
		if len(line)-len(buf) <= MaxLine {
			return line, hash, used
		}
		if len(r.Items) > 1 {
			r.Items = r.Items[:len(r.Items)/2]
		} else {
			limit = max(limit/2, 1)
		}
	}
}

// advance makes the record that was just written the one to continue from.
// Record 0 gives the log its id.
func (c *chain) advance(r *Record, hash string) {
	if c.next == 0 {
		c.log = hash
	}
	c.next, c.prev, c.ts, c.phase = c.next+1, hash, r.TS, r.Phase
}

// later keeps time from going back when the clock does.
func (c *chain) later(now time.Time) time.Time {
	if now.Before(c.ts) {
		return c.ts
	}
	return now
}
