// Package prompts holds the prompts that a person can start in their client,
// one file a prompt.
//
// Guarantee: a prompt is our own text with names of the policy's queues in it;
// nothing of a store ever stands in one. Required arguments are checked.
//
// Limit: a prompt advises. What may be done is the policy's to say.
package prompts
