package audit

import (
	"bytes"
	"fmt"
)

// record verifies one line and moves on, or says what is wrong with it.
func (v *verifier) record(at place, raw []byte) *Bad {
	if kind, why := v.judge(raw); kind != "" {
		return &Bad{Kind: kind, Segment: at.segment, Line: at.line, Offset: at.offset, Seq: v.next, Why: why}
	}
	hash := v.text(keyHash)
	if v.next == 0 {
		v.log = bytes.Clone(hash)
	}
	v.prev = append(v.prev[:0], hash...)
	v.ts = append(v.ts[:0], v.text(keyTS)...)
	v.count(int64(len(raw)) + 1)
	v.look()
	v.next++
	return nil
}

// judge runs the checks from the record's own bytes to its place in the chain.
// A hash that holds proves only that somebody computed it, so each check must
// hold by itself.
func (v *verifier) judge(raw []byte) (Kind, string) {
	if len(raw) >= MaxLine {
		return Edited, fmt.Sprintf("the line is longer than %d bytes", MaxLine)
	}
	if !sealed(raw) {
		return Edited, "its hash does not match its bytes"
	}
	if err := v.scan(raw); err != nil {
		return Edited, err.Error()
	}
	if string(v.vals[keyV]) != "1" {
		return UnreadableRecord, fmt.Sprintf("format version %s, this program knows %d", v.vals[keyV], Version)
	}
	if kind, why := v.judgePlace(); kind != "" {
		return kind, why
	}
	if want, ok := v.expect[v.seq]; ok && want != string(v.text(keyHash)) {
		return Edited, "its hash is not the one that was kept outside"
	}
	return "", ""
}

// judgePlace compares a record that holds by itself with the one before. The
// log id comes first: in a foreign record seq and prev mean nothing.
func (v *verifier) judgePlace() (Kind, string) {
	switch {
	case !v.ofThisLog():
		return WrongLog, "it was written to another log"
	case v.seq < v.next:
		return Duplicated, fmt.Sprintf("record %d was there before", v.seq)
	case v.seq > v.next:
		return Missing, fmt.Sprintf("record %d stands where %d is due", v.seq, v.next)
	case !bytes.Equal(v.text(keyPrev), v.prev):
		return Edited, "its prev is not the hash of the record before: one of the two was rewritten"
	case bytes.Compare(v.text(keyTS), v.ts) < 0:
		return Edited, "its time lies before that of the record before"
	case v.phase == PhaseRotate && v.segmentRecords > 0:
		return Edited, "it follows a rotate record in the same segment"
	}
	return "", ""
}

// ofThisLog compares the log id. Record 0 has none: it is its own id.
func (v *verifier) ofThisLog() bool {
	id := v.text(keyLog)
	if v.seq == 0 {
		return len(id) == 0 && (v.log == nil || bytes.Equal(v.text(keyHash), v.log))
	}
	return len(id) == hashLen && (v.log == nil || bytes.Equal(id, v.log))
}

// count keeps the numbers and tells the progress.
func (v *verifier) count(n int64) {
	v.segmentRecords++
	v.report.Records++
	v.report.Bytes += n
	v.done += n
	if v.opts.Progress != nil && v.done-v.told >= 1<<20 {
		v.told = v.done
		v.opts.Progress(v.done, max(v.total, v.done))
	}
}

// look collects what is to be reported beside the chain. The phase is copied
// only when it changes, which keeps the pass free of allocations.
func (v *verifier) look() {
	phase := v.text(keyPhase)
	if string(phase) != v.phase {
		v.phase = string(phase)
	}
	v.report.Phases[v.phase]++
	switch v.phase {
	case PhaseIntent, PhaseOutcome, PhaseResolve:
		v.intent.note(&v.line)
	case PhaseRecovery:
		v.intent.recovery(&v.line)
		v.report.warn("record %d: a torn end was cut off and set aside (%s)", v.seq, v.vals[keyArgs])
	}
	v.objects.note(&v.line, v.phase)
}
