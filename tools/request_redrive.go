package tools

import "github.com/redrive-mcp/redrive-mcp/internal/gate"

var requestRedrive = tool{
	name:  "request_redrive",
	title: "Request a redrive",
	description: "Asks to send letters back to their workers: one of id, ids (at most 200), or group with its as_of and max_messages. " +
		"The policy answers: refused with the rule, done or running at once (direct), or pending_approval: a person decides " +
		"outside this conversation; nothing here can approve. Use dry_run first for more than one letter. The approver reads `reason`: " +
		"what failed and why it works now; `fix`: what was mended and when. Sending is one more delivery, so do not ask twice for the same letters: " +
		"pass an idempotency_key and look with get_redrive. `replace` names your own pending request that this one supersedes.",
	input: `{` + closed + `,"required":["queue","reason"],"properties":{` + queueArg + `,` + idArg + `,` + idsArg + `,` + groupArg + `,` + asOfArg + `,` + mostArg +
		`,"patch_id":{"type":"string","minLength":1,"maxLength":64},"reason":{"type":"string","maxLength":500},` +
		`"fix":{` + closed + `,"required":["ref"],"properties":{"ref":{"type":"string","maxLength":500,"description":"commit, ticket, deploy"},` +
		`"at":{"type":"string","maxLength":64,"description":"RFC 3339"}}},` +
		`"dry_run":` + boolean + `,"replace":{"type":"string","minLength":1,"maxLength":64},"idempotency_key":{"type":"string","minLength":1,"maxLength":128}}}`,
	output: requestOutput,
	hints:  hints{readOnly: false, destructive: true, idempotent: true, openWorld: true},
	call:   calls((*gate.Agent).RequestRedrive),
}
