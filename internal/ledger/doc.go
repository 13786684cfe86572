// Package ledger keeps what must survive a crash: plans, the letters they claim,
// intents and outcomes, decisions, pace and limits.
//
// Guarantee: every transition is one transaction, made durable before the call
// returns; a letter has at most one outstanding claim; a pair of states that
// the tables in states.go do not list is an error; an executor that lost its
// fence can record what it did, never intend anew.
//
// Limit: it is one SQLite file on one machine. It believes its own rows: who
// can write the file can write what it likes, which the audit log shows.
package ledger
