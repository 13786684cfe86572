package tools

import "github.com/redrive-mcp/redrive-mcp/internal/gate"

var listDeadLetters = tool{
	name:  "list_dead_letters",
	title: "List dead letters",
	description: "Lists single letters, newest death first, without payloads: id, group, class, earlier redrives, the request " +
		"that holds it; detailed: attempts, size. " +
		"For the next page repeat the call with `cursor`: its next_cursor. Next: inspect_dead_letter.",
	input: `{` + closed + `,"required":["queue"],"properties":{` + queueArg + `,` +
		`"as_of":{"type":"string","maxLength":64},` + filterArg +
		`,"limit":{"type":"integer","minimum":1,"maximum":100,"description":"default 20"},` +
		`"cursor":{"type":"string","minLength":1,"maxLength":2000},` + refreshArg + `,` + formatArg + `}}`,
	output: `{"type":"object","required":["queue","as_of","letters","scanned","text","next"],"properties":{"queue":` + str +
		`,"as_of":` + str + `,"letters":{"type":"array","items":{"type":"object",` +
		`"required":["n","id","group","class"],"properties":{"n":` + num + `,"id":` + str + `,"group":` + str +
		`,"class":` + str + `,"code":` + str + `,"died":` + str + `,"attempts":` + str + `,"payload_bytes":` + num +
		`,"replays":` + num + `,"claimed_by":` + str + `}}},"look":` + object + `,"scanned":` + num + `,"next_cursor":` + str +
		`,"text":` + str + `,"next":` + str + `}}`,
	hints: hints{readOnly: true, destructive: false, idempotent: true, openWorld: true},
	call:  calls((*gate.Agent).List),
}
