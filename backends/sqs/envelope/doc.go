// Package envelope reads what other services of AWS leave in a dead-letter queue
// of Amazon SQS: which of them gave up, why, and what of it is the message that
// the consumer expects.
//
// Guarantee: Read never fails and changes no byte. Letter.Payload is a part of
// the body, found by its place and never written anew. An envelope is taken only
// where everything is there that its producer documents, each of its type, and no
// name twice; all else is plain, and its payload is the whole body. A message
// that SQS itself moved here was a message of its source queue, envelope and all,
// so none is taken off unless Options name its kind. Time is linear in the body,
// and memory is bounded by a few times the body.
//
// Limit: the body is written by whoever may send to the queue, so somebody can
// forge an envelope. Letter.Producer says which one was taken, and Options pin the
// kind or switch it off. What an envelope says is its sender's word: nothing of it
// is checked with AWS. JSON deeper than 10,000 levels is no envelope.
package envelope
