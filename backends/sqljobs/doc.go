// Package sqljobs makes any SQL job table a store of dead letters: Postgres
// through pgconn, SQLite through modernc.org/sqlite. A policy maps the table's
// columns; nothing about a table is guessed.
//
// Guarantee: a redrive is one transaction a batch. It locks the rows, compares
// the whole Ref of each, writes, adds a receipt, and commits after the journal
// has the intent. So a job runs once or stays dead, also when the process is
// killed at any step. With a receipts table Resolve can always tell which.
//
// The envelope of a letter, whose SHA-256 is its Digest, is every column of
// the row in the order of the catalog, except those that a redrive sets itself
// and those that only describe the failure: the status, the attempts, the
// error, the times of death and of the last attempt, and the worker. A change
// of any other column therefore makes a plan stale.
//
// Limit: without a receipts table a batch whose rows are all gone from the
// dead ones cannot be told from one that somebody else sent. The letters of
// a table without a time of death are told apart by xmin, which only Postgres
// tables have. Ref.Digest is filled only by scans with bodies: it covers the
// payload, and a listing does not read payloads.
package sqljobs
