package ledger

import (
	"fmt"
	"slices"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// State is how far a plan has come.
type State string

const (
	Pending   State = "pending"
	Approved  State = "approved"
	Running   State = "running"
	Stopping  State = "stopping" // somebody asked the executor to stop
	Done      State = "done"
	Partial   State = "partial" // over, some were skipped or failed
	Halted    State = "halted"  // over before its end; the rest was released
	Unknown   State = "unknown" // over, some outcomes cannot be proved
	Denied    State = "denied"
	Expired   State = "expired"
	Cancelled State = "cancelled"
	Void      State = "void" // the policy asks for more than what was approved
)

// Open reports whether a plan in this state holds claims that may yet be sent.
func (s State) Open() bool {
	switch s {
	case Pending, Approved, Running, Stopping:
		return true
	}
	return false
}

// Known reports whether it is a state at all.
func (s State) Known() bool {
	return s.Open() || slices.Contains([]State{Done, Partial, Halted, Unknown, Denied, Expired, Cancelled, Void}, s)
}

// planMoves are all moves of a plan; every other pair is an error.
var planMoves = map[State][]State{
	Pending:  {Approved, Denied, Expired, Cancelled},
	Approved: {Running, Denied, Expired, Cancelled, Void},
	Running:  {Running, Stopping, Done, Partial, Halted, Unknown},
	Stopping: {Stopping, Halted, Partial, Done, Unknown},
	Unknown:  {Done, Partial, Halted}, // a person settled the last one
}

// itemMoves are all moves of an item; every other pair is an error.
var itemMoves = map[backends.State][]backends.State{
	backends.Claimed:  {backends.Intended, backends.Skipped, backends.Failed},
	backends.Intended: {backends.Sent, backends.Done, backends.Skipped, backends.Failed, backends.Doubtful, backends.Claimed},
	backends.Sent:     {backends.Done, backends.Doubtful},
	backends.Doubtful: {backends.Done, backends.Skipped}, // a person settled it
}

// MoveError is a transition that the tables do not list.
type MoveError struct {
	What     string
	From, To string
}

func (e *MoveError) Error() string {
	return fmt.Sprintf("%s is %s and cannot become %s", e.What, e.From, e.To)
}

// CanMove reports whether a plan may go from one state to another.
func CanMove(from, to State) bool { return has(planMoves[from], to) }

// CanMoveItem reports whether an item may go from one state to another.
func CanMoveItem(from, to backends.State) bool { return has(itemMoves[from], to) }

// Follows reports whether a plan that was in one state can be in another by now.
func Follows(was, now State) bool { return reaches(planMoves, was, now, nil) }

// ItemFollows reports whether an item that was in one state can be in another by
// now.
func ItemFollows(was, now backends.State) bool { return reaches(itemMoves, was, now, nil) }

func reaches[T comparable](moves map[T][]T, from, to T, seen []T) bool {
	if from == to {
		return true
	}
	if has(seen, from) {
		return false
	}
	seen = append(seen, from)
	for _, next := range moves[from] {
		if reaches(moves, next, to, seen) {
			return true
		}
	}
	return false
}

func has[T comparable](list []T, want T) bool {
	for _, v := range list {
		if v == want {
			return true
		}
	}
	return false
}
