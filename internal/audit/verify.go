package audit

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// VerifyOptions of Verify; all are optional.
type VerifyOptions struct {
	// Progress is called about once per MiB with bytes read and bytes in all.
	Progress func(bytes, total int64)
	// Expect are heads that were kept outside: the log must contain them.
	Expect []Head
}

// Verify reads the whole log once, in bounded memory, and reports the first bad
// record, what a person should look at, and how far the proof reaches. It takes
// no lock and changes nothing. What is wrong with the log is in the report; the
// error is that of ctx.
func Verify(ctx context.Context, state *durable.Folder, opts VerifyOptions) (Report, error) {
	v := &verifier{
		ctx: ctx, opts: opts, expect: make(map[uint64]string), prev: []byte(noHash),
		report: Report{Phases: make(map[string]uint64)},
		intent: newIntents(), objects: newObjectCheck(state),
	}
	for _, h := range opts.Expect {
		v.expect[h.Seq] = h.Hash
	}
	dir, err := existing(state, logFolder)
	switch {
	case err != nil:
		v.unreadable("", err)
	case dir == nil:
		v.finish(nil, nil)
	default:
		v.all(dir)
		dir.Close()
	}
	v.objects.close()
	v.report.Status = v.report.status(v.objects.altered)
	return v.report, ctx.Err()
}

// verifier is the state of one pass. The embedded line is the record at hand;
// next, prev, log, ts and phase are what the chain demands of it.
type verifier struct {
	ctx     context.Context
	opts    VerifyOptions
	report  Report
	expect  map[uint64]string
	intent  *intents
	objects *objectCheck

	line
	next  uint64
	prev  []byte // the hash before, 64 digits
	log   []byte // nil before record 0
	ts    []byte
	phase string

	segmentRecords    int
	total, done, told int64
}

// all goes through the segments until one is bad. A segment that a writer begins
// meanwhile is looked for where the one before says that it follows.
func (v *verifier) all(dir *durable.Folder) {
	for seen := 0; ; {
		names, torn, err := segments(dir)
		if err != nil {
			v.unreadable("", err)
			return
		}
		v.total = totalSize(dir, names)
		more := len(names) > seen
		for ; seen < len(names); seen++ {
			v.segment(dir, names[seen], seen == len(names)-1)
			if v.report.Bad != nil || v.ctx.Err() != nil {
				more = false
				break
			}
			v.report.Segments++
		}
		if !more || v.phase != PhaseRotate {
			v.finish(names, torn)
			return
		}
	}
}

// totalSize is for the progress alone.
func totalSize(dir *durable.Folder, names []string) (total int64) {
	for _, name := range names {
		// A segment that cannot be opened is reported when its turn comes.
		if file, err := dir.OpenFile(name, os.O_RDONLY); err == nil {
			if info, err := file.Stat(); err == nil {
				total += info.Size()
			}
			file.Close()
		}
	}
	return total
}

// segment verifies one file. After a gap in the numbers it reads on, to tell a
// record that was moved from one that is gone.
func (v *verifier) segment(dir *durable.Folder, name string, newest bool) {
	if v.report.Bad = v.checkName(name); v.report.Bad != nil {
		return
	}
	v.segmentRecords = 0
	err := eachLine(v.ctx, dir, name, 0, func(at place, raw []byte, ended error) bool {
		if v.report.Bad != nil {
			return !v.foundLater(raw)
		}
		if ended == io.EOF {
			v.tornEnd(at, len(raw), newest)
			return true
		}
		v.report.Bad = v.record(at, raw)
		return v.report.Bad == nil || v.report.Bad.Kind == Missing
	})
	if err != nil && v.ctx.Err() == nil {
		v.unreadable(name, err)
	}
}

// foundLater says whether the record that is due stands further down, which
// makes the gap a swap. Lines that do not hold are passed over: the first bad
// record is known already.
func (v *verifier) foundLater(raw []byte) bool {
	found := sealed(raw) && v.scan(raw) == nil && v.seq == v.next
	if found {
		v.report.Bad.Kind = Reordered
		v.report.Bad.Why = fmt.Sprintf("it stands before record %d", v.next)
	}
	return found
}

// checkName compares a segment's name with where the chain is.
func (v *verifier) checkName(name string) *Bad {
	first, _ := segmentFirst(name)
	bad := &Bad{Segment: name, Seq: v.next}
	switch {
	case first < v.next:
		bad.Kind, bad.Why = Duplicated, fmt.Sprintf("it should begin with record %d", v.next)
	case v.next > 0 && v.phase != PhaseRotate:
		bad.Kind, bad.Why = TruncatedSegment, "the segment before does not end with a rotate record"
	case first > v.next:
		bad.Kind, bad.Why = Missing, fmt.Sprintf("the segment that begins with record %d is gone", v.next)
	default:
		return nil
	}
	return bad
}

// tornEnd judges bytes behind the last newline. In the newest segment a writer
// may be at work, or have died there; none was told that they are safe.
func (v *verifier) tornEnd(at place, n int, newest bool) {
	if newest {
		v.report.warn("%s ends with %d bytes without a newline: a write under way, or one cut short", at.segment, n)
		return
	}
	v.report.Bad = &Bad{Kind: Torn, Segment: at.segment, Line: at.line, Offset: at.offset, Seq: v.next, Why: fmt.Sprintf("%d bytes without a newline", n)}
}

func (v *verifier) unreadable(segment string, err error) {
	v.report.Bad = &Bad{Kind: UnreadableRecord, Segment: segment, Seq: v.next, Why: err.Error()}
}

// finish adds what can only be said at the end.
func (v *verifier) finish(names, torn []string) {
	r := &v.report
	r.Log, r.Anchor = string(v.log), v.anchor()
	if v.next > 0 {
		r.Head = Head{Seq: v.next - 1, Hash: string(v.prev), Log: r.Log}
	}
	r.Dangling, r.Objects = v.intent.dangling(), v.objects.found
	r.More += v.objects.more
	if r.Bad != nil {
		return
	}
	switch {
	case v.next == 0 && len(v.expect) == 0:
		r.warn("there is no log yet")
	case v.phase == PhaseRotate:
		r.warn("%s ends with a rotate record and no segment follows", names[len(names)-1])
	}
	for _, name := range torn {
		if !v.intent.recovered[name] {
			r.warn("%s was set aside, but no recovery record names it", name)
		}
	}
	v.missingHeads(names)
	if v.opts.Progress != nil {
		v.opts.Progress(v.done, max(v.total, v.done))
	}
}

// missingHeads reports a head kept outside that lies behind the log's end.
func (v *verifier) missingHeads(names []string) {
	for _, h := range v.opts.Expect {
		if h.Seq < v.next {
			continue
		}
		bad := &Bad{Kind: Missing, Seq: v.next, Why: fmt.Sprintf("the log ends before record %d, which was kept outside", h.Seq)}
		if len(names) > 0 {
			bad.Segment = names[len(names)-1]
		}
		v.report.Bad = bad
		return
	}
}

// anchor never says more than what was compared: a chain that holds looks the
// same whether or not its end was cut off.
func (v *verifier) anchor() string {
	const none = "unanchored: nothing held outside proves that the tail is complete"
	fits, newest := false, uint64(0)
	for seq := range v.expect {
		if v.report.Bad == nil || seq < v.report.Bad.Seq {
			fits, newest = true, max(newest, seq)
		}
	}
	if !fits {
		return none
	}
	return fmt.Sprintf("%s beyond record %d, which was compared with a head kept outside", none, newest)
}
