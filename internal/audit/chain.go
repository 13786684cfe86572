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
	items := r.Items
	limit := fitting(r)
	for {
		r.Items = items[:min(len(items), MaxItems)]
		var n int
		buf, n = c.addLine(buf, r, limit, now)
		items = items[n:]
		if len(items) == 0 {
			return buf
		}
	}
}

// fitting returns a length limit for strings at which the record without its
// items leaves half a line for them.
func fitting(r Record) int {
	r.Items = nil
	limit := maxString
	for limit > 1 {
		line, _ := appendRecord(nil, &r, limit)
		if len(line) <= MaxLine/2 {
			break
		}
		limit /= 2
	}
	return limit
}

// addLine appends one line with as many of the items as fit and says how many
// these are. The limit of one rune always fits, so it ends.
func (c *chain) addLine(buf []byte, r Record, limit int, now time.Time) ([]byte, int) {
	r.Seq, r.Prev, r.Log, r.TS = c.next, c.prev, c.log, c.later(now)
	for {
		line, hash := appendRecord(buf, &r, limit)
		if len(line)-len(buf) <= MaxLine {
			c.advance(&r, hash)
			return line, len(r.Items)
		}
		if len(r.Items) > 1 {
			r.Items = r.Items[:len(r.Items)/2]
		} else {
			limit = max(limit/2, 1)
		}
	}
}

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
