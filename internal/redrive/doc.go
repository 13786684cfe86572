// Package redrive is the executor: it takes one plan, settles what an earlier
// executor left in doubt, sends the rest at the plan's pace, and ends.
//
// Guarantee: killed at any step and run again, every item is sent at most once
// or reported as unknown; an intent is durable in ledger and log before its
// effect; a plan has one executor that may intend.
//
// Limit: it knows no policy. Whether it may go on is asked of Order.Check
// before the first send and before every batch; it believes the answer.
package redrive
