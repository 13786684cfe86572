package cli

import "strings"

// forPeople puts the gate's advice, which is written for an agent, into what a
// person types.
func forPeople(s string) string {
	return strings.NewReplacer(
		"Ask a person to run ", "Run ",
		"list_queues", "`queues`",
		"group_dead_letters", "`letters --groups`",
		"list_dead_letters", "`letters`",
		"inspect_dead_letter", "`letters --id`",
		"propose_patch", "`redrive --patch`",
		"request_redrive", "`redrive`",
		"get_redrive", "`show`",
		"cancel_redrive", "`cancel`",
	).Replace(s)
}
