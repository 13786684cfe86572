package tools

import "github.com/redrive-mcp/redrive-mcp/internal/gate"

var groupDeadLetters = tool{
	name:  "group_dead_letters",
	title: "Group by error",
	description: "Counts the letters of a queue by error, biggest group first: count, first and last death, class " +
		"(permanent: fails again unchanged; transient: may work now; not_failed: never really failed; unknown), sample ids, " +
		"and what the policy would say. Call it before list_dead_letters. " +
		"Keep `as_of`: a request for a group needs it. Next: inspect_dead_letter on a sample.",
	input: `{` + closed + `,"required":["queue"],"properties":{` + queueArg + `,` +
		`"as_of":{"type":"string","maxLength":64},` + filterArg +
		`,"limit":{"type":"integer","minimum":1,"maximum":50,"description":"default 10"},` + refreshArg + `,` + formatArg + `}}`,
	output: `{"type":"object","required":["queue","as_of","scanned","groups","text","next"],"properties":{"queue":` + str +
		`,"as_of":` + str + `,"scanned":` + num + `,"groups":{"type":"array","items":{"type":"object",` +
		`"required":["n","group","count","class","sample_ids","policy"],"properties":{"n":` + num + `,"group":` + str +
		`,"count":` + num + `,"class":` + str + `,"code":` + str + `,"first_seen":` + str + `,"last_seen":` + str +
		`,"sample_ids":` + strs + `,"policy":` + str + `}}},"other_groups":` + num + `,"other_letters":` + num +
		`,"look":` + object + `,"text":` + str + `,"next":` + str + `}}`,
	hints: hints{readOnly: true, destructive: false, idempotent: true, openWorld: true},
	call:  calls((*gate.Agent).Group),
}
