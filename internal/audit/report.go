package audit

import "fmt"

// Status is the result of Verify in one word, the gravest that applies.
type Status int

const (
	Intact     Status = iota // every record holds and nothing needs a look
	Tampered                 // a record or an object is not what was written
	Warning                  // every record holds, but somebody should look
	Unreadable               // the log could not be read, or not by this version
)

func (s Status) String() string {
	return [...]string{"intact", "tampered", "warning", "unreadable"}[s]
}

// Kind says what is wrong with the first bad record.
type Kind string

const (
	Edited           Kind = "edited"            // its bytes are not those its hash was made of
	Missing          Kind = "missing"           // records that must stand before it are gone
	Reordered        Kind = "reordered"         // it stands too early; the one expected comes later
	Duplicated       Kind = "duplicated"        // its seq was there before
	Torn             Kind = "torn"              // bytes without a newline inside the log
	WrongLog         Kind = "wrong-log"         // it was written to another log
	TruncatedSegment Kind = "truncated-segment" // a segment does not end with a rotate record
	UnreadableRecord Kind = "unreadable"        // it could not be read, or has an unknown version
)

// Bad is the first bad record: where it stands, what is wrong, and the seq that
// was expected there.
type Bad struct {
	Kind    Kind
	Segment string
	Line    int   // from 1; 0 if it is about the whole segment
	Offset  int64 // of the line's first byte in the segment
	Seq     uint64
	Why     string
}

func (b *Bad) String() string {
	if b.Line == 0 {
		return fmt.Sprintf("%s: %s: %s", b.Segment, b.Kind, b.Why)
	}
	return fmt.Sprintf("%s line %d (record %d expected): %s: %s", b.Segment, b.Line, b.Seq, b.Kind, b.Why)
}

// Dangling is the items of an intent for which no outcome was recorded: whether
// they were sent is not known from the log.
type Dangling struct {
	Plan, Run string
	Seq       uint64 // of the last such intent
	Items     []int  // sorted
}

// Object is a file under objects/ that is missing or has other bytes: a plan, what
// a person was shown, a policy's list of files, or one of these.
type Object struct {
	Sum     string
	Seq     uint64 // of the first record that names it, or the list that does
	Missing bool
	Why     string
}

// Report is what Verify found. Records, Bytes, Phases and Head cover the good
// records, which are all before Bad.
type Report struct {
	Status   Status
	Log      string
	Head     Head
	Records  uint64
	Bytes    int64
	Segments int
	Phases   map[string]uint64
	Bad      *Bad
	Warnings []string // without those of Dangling and Objects; at most 100
	More     int      // warnings and objects beyond these
	Dangling []Dangling
	Objects  []Object // at most 100
	Anchor   string   // how far the proof reaches; one sentence
}

const maxWarnings = 100

func (r *Report) warn(format string, args ...any) {
	if len(r.Warnings) == maxWarnings {
		r.More++
		return
	}
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// status weighs what was found; altered says that some object has other bytes.
func (r *Report) status(altered bool) Status {
	switch {
	case r.Bad != nil && r.Bad.Kind == UnreadableRecord:
		return Unreadable
	case r.Bad != nil || altered:
		return Tampered
	case len(r.Warnings)+len(r.Dangling)+len(r.Objects) > 0:
		return Warning
	}
	return Intact
}
