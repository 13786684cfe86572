// Package snapshot keeps letters as looks at a store saw them, for all processes
// of one state folder, in a SQLite file of its own.
//
// It guarantees that a look is made by one process at a time and is over at once
// when that process dies; that letters are listed once and in one order whoever
// puts meanwhile; that what a whole look did not see is listed no more; that
// nothing is shown or kept longer than it may be; that memory does not grow with
// the number of letters; and that a letter whose bytes changed on the disk is an
// error and not an answer.
//
// Its limits: the file is no truth. A crash of a process loses nothing that Put
// returned for. A power loss can lose the newest puts, and a look that came to
// its end then counts as one that did not; the next look sees those letters
// again. The file may be removed while no process has it open. A letter that the
// disk lost without a trace is not missed before the next look.
package snapshot
