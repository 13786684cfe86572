package tools

// Parts that several schemas share. The bounds are the gate's; a test compares
// them. Where an argument that is left out and an empty one would differ, an
// empty one is refused.
const (
	closed = `"type":"object","additionalProperties":false`

	queueArg   = `"queue":{"type":"string","maxLength":128,"description":"name from list_queues"}`
	idArg      = `"id":{"type":"string","minLength":1,"maxLength":512}`
	idsArg     = `"ids":{"type":"array","minItems":1,"maxItems":200,"items":{"type":"string","maxLength":512}}`
	groupArg   = `"group":{"type":"string","minLength":1,"maxLength":128,"description":"needs as_of and max_messages"}`
	asOfArg    = `"as_of":{"type":"string","maxLength":64,"description":"as answered; later arrivals are left out"}`
	mostArg    = `"max_messages":{"type":"integer","minimum":1,"maximum":1000000}`
	refreshArg = `"refresh":{"type":"boolean","description":"look anew (SQS)"}`
	formatArg  = `"response_format":{"type":"string","enum":["concise","detailed"]}`
	filterArg  = `"filter":{` + closed + `,"properties":{` +
		`"error_contains":{"type":"string","maxLength":500},` +
		`"error_class":{"type":"string","enum":["permanent","transient","not_failed","unknown"]},` +
		`"job":{"type":"string","maxLength":500},` +
		`"since":{"type":"string","maxLength":64,"description":"RFC 3339, death"},` +
		`"until":{"type":"string","maxLength":64},` +
		`"min_attempts":{"type":"integer","minimum":0,"maximum":1000000},` +
		`"group":{"type":"string","maxLength":128}}}`

	str     = `{"type":"string"}`
	num     = `{"type":"integer"}`
	object  = `{"type":"object"}`
	boolean = `{"type":"boolean"}`
	strs    = `{"type":"array","items":` + str + `}`
)

// requestOutput is one request, as request_redrive answers it and get_redrive
// and cancel_redrive list it.
const requestOutput = `{"type":"object","required":["status","queue","messages","sent","next"],"properties":{` +
	`"status":` + str + `,"request_id":` + str + `,"digest":` + str + `,"queue":` + str + `,"messages":` + num +
	`,"left_out":{"type":"object","additionalProperties":` + num + `},"rule":` + str + `,"why":` + str + `,"who":` + str +
	`,"decided":` + str + `,"sent":` + num + `,"skipped":` + num + `,"failed":` + num + `,"unknown":` + num + `,"waiting":` + num +
	`,"items":{"type":"array","items":{"type":"object","required":["id","outcome"],"properties":{"id":` + str +
	`,"outcome":` + str + `,"why":` + str + `,"new_id":` + str + `}}}` +
	`,"expires":` + str + `,"not_after":` + str + `,"effect":` + str + `,"returned":` + num + `,"released":` + num + `,"would_be":` + str + `,"next":` + str + `}}`

const statusOutput = `{"type":"object","required":["requests","next"],"properties":{"requests":{"type":"array","items":` +
	requestOutput + `},"next":` + str + `}}`

// cancelOutput names of a cancelled request only what changed; the rest is as
// get_redrive tells it.
const cancelOutput = `{"type":"object","required":["requests","next"],"properties":{"requests":{"type":"array","items":` +
	`{"type":"object","required":["status","next"],"properties":{"status":` + str + `,"next":` + str + `}}},"next":` + str + `}}`
