package tools

import "github.com/redrive-mcp/redrive-mcp/internal/gate"

var listQueues = tool{
	name:  "list_queues",
	title: "List queues",
	description: "Start here. Lists your queues: dead letters, oldest, newest, first expiry, open requests, " +
		"and what the policy lets you do: `redrive` is direct (you may), approval (a person decides), never, or depends " +
		"(rules decide letter by letter); `limits` of direct; `patch`: what a patch may change. " +
		"response_format detailed adds the rules. Next: group_dead_letters.",
	input: `{` + closed + `,"properties":{` + formatArg + `}}`,
	output: `{"type":"object","required":["as_of","queues","next"],"properties":{"as_of":` + str + `,"stopped":` + str +
		`,"queues":{"type":"array","items":{"type":"object","required":["queue","store","redrive","max_messages","open_requests","pending"],"properties":{` +
		`"queue":` + str + `,"store":` + str + `,"letters":` + num + `,"at_least":` + boolean + `,"oldest":` + str + `,"newest":` + str +
		`,"first_expiry":` + str + `,"redrive":` + str + `,"limits":` + str + `,"max_messages":` + num + `,"rules":` + strs + `,"patch":` + strs + `,"open_requests":` + num +
		`,"pending":` + num + `,"unknown":` + num + `,"last_outcome":` + str + `,"time_left":` + str + `,"error":` + str +
		`,"warnings":` + strs + `}}},"next":` + str + `}}`,
	hints: hints{readOnly: true, destructive: false, idempotent: true, openWorld: true},
	call:  calls((*gate.Agent).ListQueues),
}
