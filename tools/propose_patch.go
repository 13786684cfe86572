package tools

import "github.com/redrive-mcp/redrive-mcp/internal/gate"

var proposePatch = tool{
	name:  "propose_patch",
	title: "Try a patch",
	description: "Tries a change of payloads and keeps it under a patch_id; no letter is changed. Choose letters by one of " +
		"id, ids (at most 200) or group; the change by one of `patch` (RFC 6902), `merge_patch` (RFC 7396) or `replace_body`, at most " +
		"64000 bytes. Only paths under `patch` of list_queues may differ. Answers for how many it applies, the byte diff, the schema check, " +
		"and what the policy says. Copy numbers digit by digit. " +
		"Next: request_redrive with the patch_id and the same letters.",
	input: `{` + closed + `,"required":["queue"],"properties":{` + queueArg + `,` + idArg + `,` + idsArg + `,` + groupArg + `,` + asOfArg + `,` + mostArg +
		`,"patch":{"type":"array","minItems":1,"items":{` + closed + `,"required":["op","path"],"properties":{` +
		`"op":{"type":"string","enum":["add","remove","replace","move","copy","test"]},"path":` + str + `,"from":` + str + `,"value":{}}}},` +
		`"merge_patch":{"type":"object"},"replace_body":{"type":"string","maxLength":64000},` +
		`"note":{"type":"string","maxLength":500,"description":"why, for the approver"},` + formatArg + `}}`,
	output: `{"type":"object","required":["queue","applies","paths","policy","text","next"],"properties":{"patch_id":` + str +
		`,"queue":` + str + `,"applies":` + num + `,"no_change":` + num + `,"does_not_apply":` + num +
		`,"why":{"type":"array","items":{"type":"object","required":["id","why"],"properties":{"id":` + str + `,"why":` + str + `,"letters":` + num + `}}}` +
		`,"schema":` + str + `,"paths":` + strs + `,"hidden_paths":` + strs + `,"expires":` + str + `,"policy":` + str +
		`,"text":` + str + `,"next":` + str + `}}`,
	hints: hints{readOnly: false, destructive: false, idempotent: false, openWorld: false},
	call:  calls((*gate.Agent).ProposePatch),
}
