package audit

import "time"

const (
	// Version is the version of the line format, the field v.
	Version = 1
	// MaxLine is the length limit of a line in bytes, its newline included.
	MaxLine = 16 << 10
	// MaxItems is the number of items that one record carries at most.
	MaxItems = 100

	hashLen  = 64
	sealLen  = len(`,"hash":"`) + hashLen + len(`"}`)
	noHash   = "0000000000000000000000000000000000000000000000000000000000000000"
	tsLayout = "2006-01-02T15:04:05.000000Z"
)

// Phases of a record. Rotate and recovery records are written by the log alone.
const (
	PhaseStart      = "start"
	PhasePolicy     = "policy"
	PhaseCall       = "call"
	PhaseDecision   = "decision"
	PhasePlan       = "plan"
	PhaseApproval   = "approval"
	PhaseRun        = "run"
	PhaseIntent     = "intent"
	PhaseOutcome    = "outcome"
	PhaseResolve    = "resolve"
	PhaseCancel     = "cancel"
	PhaseCheckpoint = "checkpoint"
	PhaseStop       = "stop"
	PhaseRecovery   = "recovery"
	PhaseRotate     = "rotate"
)

// Record is one line of the log, its fields in the order of the line's keys.
// The writer sets V, Seq, Prev, TS, Log, Hash, and Host, PID and Mode where
// they are empty; the reader sets all and Raw.
type Record struct {
	V     int
	Seq   uint64
	Prev  string
	TS    time.Time
	Log   string
	Op    string // joins the records of one operation
	Phase string

	Actor   string
	Client  string
	Session string
	Mode    string
	Proof   string
	Tool    string
	Args    []Arg // paths, ids and commits; never content

	Queue string
	Items []Item // the writer spreads more than MaxItems over several records

	Policy  string
	Rule    string
	Effect  string
	Why     string
	Plan    string // the plan's SHA-256, which is also its name under objects/
	Run     string
	Outcome string
	Err     string
	DurMS   int64

	Host string
	PID  int
	Hash string

	// Kept lets a record use the space that is held back for outcomes: for a
	// person who looks at or halts what is going on. It is not part of the line.
	Kept bool

	Raw []byte // the line without its newline; ignored by the writer
}

// Arg is one argument of a call. Value is a string, a bool, an int, an int64,
// a uint64 or a []string; anything else is written as fmt.Sprint shows it.
type Arg struct {
	Key   string
	Value any
}

// Item is one message of a plan: N its number there, ID the store's own id,
// Commit the salted digest of its content, NewID the id that a send returned.
type Item struct {
	N      int    `json:"n"`
	ID     string `json:"id"`
	Commit string `json:"commit"`
	State  string `json:"state"`
	Code   string `json:"code"`
	NewID  string `json:"new_id"`
}

// Head names a record and with it everything before: whoever keeps a Head
// outside can later tell whether the log still contains it.
type Head struct {
	Seq  uint64
	Hash string // 64 hex digits; empty for a log without records
	Log  string // the log's id
}

// kept says whether space is held back for a record: those that tell what
// already happened, or halt it, must not fail for a full disk.
func (r *Record) kept() bool {
	switch r.Phase {
	case PhaseOutcome, PhaseResolve, PhaseStop, PhaseCancel:
		return true
	}
	return r.Kept
}

func writable(phase string) bool {
	switch phase {
	case PhaseStart, PhasePolicy, PhaseCall, PhaseDecision, PhasePlan, PhaseApproval, PhaseRun,
		PhaseIntent, PhaseOutcome, PhaseResolve, PhaseCancel, PhaseCheckpoint, PhaseStop:
		return true
	}
	return false
}
