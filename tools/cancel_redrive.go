package tools

import "github.com/redrive-mcp/redrive-mcp/internal/gate"

var cancelRedrive = tool{
	name:  "cancel_redrive",
	title: "Cancel your redrive",
	description: "Withdraws your own pending request, or stops your own running one between two batches. " +
		"What was sent stays sent; the answer says how many. Not those of others.",
	input: `{` + closed + `,"required":["request_id"],"properties":{"request_id":{"type":"string","maxLength":64},` +
		`"reason":{"type":"string","maxLength":500}}}`,
	output: cancelOutput,
	hints:  hints{readOnly: false, destructive: true, idempotent: true, openWorld: false},
	call:   calls((*gate.Agent).CancelRedrive),
}
