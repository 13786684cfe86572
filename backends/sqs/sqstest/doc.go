// Package sqstest is what tests of Amazon SQS stand on: the servers that
// ./testdata/test.sh starts, queues whose letters SQS itself moved to the dead,
// and a proxy that makes the faults that no such server makes.
//
// Guarantee: a queue that is made here has a name of its own and goes with its
// test; what a server is known not to do stands in its Facts, so that a test
// leaves out one check for one server and says so.
//
// Limit: the servers are not SQS. What they do differently beyond the Facts, a
// test learns only from an account of AWS (REDRIVE_TEST_SQS_AWS).
package sqstest
