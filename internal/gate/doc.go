// Package gate is the one door: every read and every request, of agents and of
// people, passes here.
//
// Guarantee: a call is in the audit log before anything is read for it;
// nothing is shown that the policy hides; a redrive is frozen into a plan,
// claims its letters, and runs only as the policy and, where it asks for them,
// people allow at that moment.
//
// Limit: with one operating-system user (guardrail mode) whoever may start this
// program can also edit the policy, use the stores' credentials or replace the
// program. The gate makes that visible, not impossible.
package gate
