package gate

import (
	"bytes"
	"context"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
)

// maxListScan bounds how many letters one page looks at for a rare filter; the
// cursor goes on from there.
const maxListScan = 50_000

func (s *session) list(ctx context.Context, args ListArgs) (*ListResult, error) {
	l, err := s.checkListing(args.Filter, args.AsOf, args.Limit, MaxList, DefaultList, args.ResponseFormat)
	if err != nil {
		return nil, s.refusedArgs(ctx, "list_dead_letters", args.Queue, err)
	}
	c, err := s.begin(ctx, "list_dead_letters", args.Queue, append(l.args(), audit.Arg{Key: "cursor", Value: args.Cursor != ""}, audit.Arg{Key: "refresh", Value: args.Refresh})...)
	if err != nil {
		return nil, err
	}
	res, err := c.list(ctx, args, l)
	if err = c.done(ctx, err); err != nil {
		return nil, err
	}
	return res, nil
}

func (c *call) list(ctx context.Context, args ListArgs, l listing) (*ListResult, error) {
	t, err := c.open(ctx, args.Queue)
	if err != nil {
		return nil, err
	}
	if err := l.fits(t); err != nil {
		return nil, err
	}
	var look *LookInfo
	if args.Cursor == "" {
		if look, err = c.looked(ctx, t, args.Refresh); err != nil {
			return nil, err
		}
	}
	after := ""
	if args.Cursor != "" {
		l.asOf, after, err = c.goOn(args, l.m)
	} else {
		l.asOf, err = c.asOf(ctx, t, l.asOf)
	}
	if err != nil {
		return nil, err
	}
	res := &ListResult{Queue: args.Queue, AsOf: exact(l.asOf), Letters: []LetterInfo{}, Look: look}
	next, err := c.page(ctx, t, l, backends.Query{Queue: args.Queue, AsOf: l.asOf, After: after}, res)
	if err != nil {
		return nil, err
	}
	if next != "" {
		res.Cursor = cursor{Queue: args.Queue, AsOf: res.AsOf, Filter: l.m.digest, After: next}.encode(c.st.secret)
	}
	res.Next = "Inspect a letter with inspect_dead_letter before you propose anything."
	if len(res.Letters) == 0 {
		res.Next = "No letter matches here."
		if res.Cursor != "" {
			res.Next = "No letter matches so far; go on with next_cursor."
		}
	}
	res.Next = look.next(res.Next)
	return res, nil
}

// goOn is where a cursor's listing goes on, and the time that it is cut off at.
func (c *call) goOn(args ListArgs, m *matcher) (asOf time.Time, after string, err error) {
	cur, ok := readCursor(c.st.secret, args.Cursor)
	if !ok || cur.Queue != args.Queue || !bytes.Equal(cur.Filter, m.digest) || args.AsOf != "" && args.AsOf != cur.AsOf {
		return asOf, "", refuse(CodeBadArgument, "`cursor` is not one that a listing of %s with this filter and as_of gave. Leave it out to begin again.", args.Queue)
	}
	asOf, err = parseTime("as_of", cur.AsOf)
	return asOf, cur.After, err
}

// page fills one page and returns where the next begins, "" at the end.
func (c *call) page(ctx context.Context, t *target, l listing, q backends.Query, res *ListResult) (next string, err error) {
	var text numbered
	var ids []string
	q.Bodies, q.Want = t.needsBody(), l.limit+1
	for d, err := range t.store.Scan(ctx, q) {
		if err != nil {
			return "", storeRefusal(t.q.Name, err)
		}
		v := t.look(c.pol, d, false)
		if l.m.match(d, &v) {
			if len(ids) == l.limit {
				next = q.After // there is one more: the page ends before it
				break
			}
			ids = append(ids, d.ID)
			res.Letters = append(res.Letters, row(len(ids), d, &v, l.detailed))
			text.add(len(ids), line(&v))
		} else if l.m.past(d) {
			break
		}
		q.After = d.After
		if res.Scanned++; res.Scanned >= maxListScan {
			next = q.After
			break
		}
	}
	res.Text = text.fenced()
	return next, c.fillRows(ctx, t, ids, res.Letters)
}

func row(n int, d *backends.DeadLetter, v *seen, detailed bool) LetterInfo {
	info := LetterInfo{N: n, ID: showID(d.ID), Group: v.group, Class: v.class, Code: v.shown, Died: stamp(d.Times.Dead)}
	if detailed {
		info.Attempts, info.Size = attempts(d.Attempts), v.size
	}
	return info
}

func line(v *seen) string {
	text := v.message
	if text == "" {
		text = v.label
	}
	if v.job != "" {
		text = v.job + ": " + text
	}
	return text
}

// fillRows adds what the ledger knows.
func (c *call) fillRows(ctx context.Context, t *target, ids []string, rows []LetterInfo) error {
	if len(ids) == 0 {
		return nil
	}
	claims, err := c.st.ledger.Claims(ctx, t.at.Letters(), ids)
	if err != nil {
		return err
	}
	replays, err := c.st.ledger.Replays(ctx, t.at.Letters(), ids)
	if err != nil {
		return err
	}
	for i, id := range ids {
		rows[i].Claimed, rows[i].Replays = claims[id], replays[id].Count
	}
	return nil
}
