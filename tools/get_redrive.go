package tools

import "github.com/redrive-mcp/redrive-mcp/internal/gate"

var getRedrive = tool{
	name:  "get_redrive",
	title: "Get redrives",
	description: "Tells the state of one request, or of all open ones: pending_approval, approved (nobody runs it yet), running, " +
		"done, partial, halted, unknown, denied, expired, cancelled, void; and how many messages were sent, skipped, failed, or cannot be " +
		"proved either way (unknown: leave those to a person). Sent is not succeeded; returned counts those that died again. " +
		"People take minutes or hours; ask once a minute at most.",
	input: `{` + closed + `,"properties":{"request_id":{"type":"string","maxLength":64},` +
		formatArg + `}}`,
	output: statusOutput,
	hints:  hints{readOnly: true, destructive: false, idempotent: true, openWorld: true},
	call:   calls((*gate.Agent).GetRedrive),
}
