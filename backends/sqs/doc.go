// Package sqs is the store of dead letters in Amazon SQS: a dead-letter queue,
// standard or FIFO, of the policy's choice.
//
// SQS has no peek. To see a message is to receive it: that hides it for a while
// and adds to its receive count. So a queue is looked at on purpose and for
// everybody at once (Look), what was seen is kept as snapshots, and all that was
// taken is given back at once. Lists and inspects are answered from the snapshots.
//
// A redrive finds each message again by its id, compares the whole of it with
// what was planned, sends it, and deletes the dead copy only when SQS has said
// that it was sent.
//
// Guarantee: nothing is deleted that SQS did not confirm as sent; what is taken
// is given back on every way out, and after a kill by the visibility timeout; a
// send whose answer was lost is reported as unknown and its dead copy stays.
//
// Limit: sending and deleting are two steps, so that after a crash between them a
// message is in both queues until the dead copy is removed. SQS on the standard
// type may deliver a message twice by itself. Counts of SQS are approximate.
//
// The rules here follow the Amazon SQS Developer Guide and the API reference of
// the SDK; where they leave something open the stricter reading was taken.
package sqs
