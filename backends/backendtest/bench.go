// Package backendtest is the conformance suite of stores.
//
// Guarantee: a store that passes Run shows its letters as they are, sends what
// was planned and nothing else, never acts without a durable intent, and ends
// with every message sent once, still dead, or reported as doubtful, wherever
// a redrive is cut off.
//
// Limit: redrives are cut off at the steps of the journal, inside one process.
// What a store does between two steps, and what a network does to a commit, is
// for the store's own tests.
package backendtest

import (
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// Bench makes really dead letters in one place, and is the rest of the world
// to them: workers, other people, the passing of time. Its functions fail the
// test themselves, and must not wait longer than some seconds for a lock that
// the store holds.
type Bench struct {
	// Queue is the name under which the store knows the queue.
	Queue string
	// Open makes a fresh connection to the same place. The suite closes it.
	Open func(testing.TB) backends.Store
	// Kill puts letters among the dead, each later than the one before it, and
	// returns their ids in that order.
	Kill func(testing.TB, []Letter) []string
	// Revive makes somebody else retry a letter, so that it is dead no more.
	Revive func(t testing.TB, id string)
	// KillAgain lets a revived letter die again with the same bytes.
	KillAgain func(t testing.TB, id string)
	// Touch changes a field other than the body that the consumer will see.
	// Nil where a store cannot change a letter.
	Touch func(t testing.TB, id string)
	// Remove deletes a letter, as retention would.
	Remove func(t testing.TB, id string)
	// KillElsewhere puts a letter among the dead of another queue of the same
	// place. Nil where there is none.
	KillElsewhere func(testing.TB, Letter) string
	// Ready is what workers would now take.
	Ready func(testing.TB) []Job
	// Take makes workers take and finish all that is ready.
	Take func(testing.TB)
	// OtherIDs are spellings that are no ids of this store: of a wrong type, too
	// long, with a NUL.
	OtherIDs []string
	Facts    Facts
	// Slow is a store whose server takes so long for each call that a redrive is
	// cut off at some of its steps only. Another server must be tried at all.
	Slow bool
}

// Letter is what Kill makes. The suite uses bodies that are all different:
// they are how it recognises a message under a new id.
type Letter struct {
	Body  []byte // JSON such as {"job": "k1"}, in jsonb's own spelling
	Error string
	Job   string
}

// Job is a message that a worker would take.
type Job struct {
	ID   string
	Body []byte
}

// Facts say what the store knows of a letter that Kill made. What is false must
// be absent.
type Facts struct {
	Reason      bool // the error's text
	Made, Limit bool // the attempts
	AnyMade     bool // the server counts attempts as the real one does not, so nobody looks
	Enqueued    bool
	LastAttempt bool
	Dead        bool // the time of death
	Job         bool // the job's name
	KeepsBytes  bool // bodies come back byte for byte; false where a store normalises JSON
	Patches     bool // Item.Body can be sent instead of the stored payload
	MayDoubt    bool // an interrupted send may stay doubtful
}
