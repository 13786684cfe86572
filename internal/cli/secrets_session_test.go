package cli_test

import (
	"fmt"
	"strings"
)

// secretSession is an agent's: every tool, the prompt, completion, and what the
// server has to say to nonsense. The words of a caller hold a secret that is
// nobody's to keep; they never stand as an id, which is always told and kept. It
// gives the ids of five requests.
func secretSession(w *workplace, hidden *searcher) (ids []string) {
	w.t.Helper()
	const words = "see sk_live_" + pasted + " for it"
	c := w.serve()
	n := 0
	ask := func(line string) response {
		w.t.Helper()
		c.send(strings.TrimSpace(line) + "\n")
		a := c.next()
		hidden.search(fmt.Sprintf("%.300s", line), a.raw)
		return a
	}
	do := func(tool, args string) response {
		w.t.Helper()
		n++
		return ask(call(fmt.Sprint(n), tool, args))
	}
	again := func() { // a session in which too much is refused is held up
		w.t.Helper()
		c.end()
		c = w.serve()
		ask(hello)
	}
	for _, format := range []string{"concise", "detailed"} {
		again()
		do("list_queues", fmt.Sprintf(`{"response_format":%q}`, format))
		for _, queue := range []string{"orders", "shown", "mail", "far"} {
			do("group_dead_letters", fmt.Sprintf(`{"queue":%q,"response_format":%q}`, queue, format))
			do("list_dead_letters", fmt.Sprintf(`{"queue":%q,"response_format":%q}`, queue, format))
		}
		for _, id := range []int{1, 3, 4, 5, 6, 14, 25, 99} {
			queue := []string{"orders", "shown", "mail"}[min(id/10, 2)]
			do("inspect_dead_letter", fmt.Sprintf(`{"queue":%q,"id":"%d","response_format":%q}`, queue, id, format))
			do("inspect_dead_letter", fmt.Sprintf(`{"queue":%q,"id":"%d","offset":7,"response_format":%q}`, queue, id, format))
			for _, patch := range []string{
				`"patch":[{"op":"replace","path":"/currency","value":"EUR"}]`, `"patch":[{"op":"test","path":"/note","value":"x"}]`, `"patch":[{"op":"remove","path":"/meta"}]`,
				`"patch":[{"op":"copy","from":"/card","path":"/currency"}]`, `"merge_patch":{"meta":null}`, `"merge_patch":{"card":"x"}`, `"replace_body":"{}"`,
			} {
				do("propose_patch", fmt.Sprintf(`{"queue":%q,"id":"%d",%s,"note":%q,"response_format":%q}`, queue, id, patch, words, format))
			}
		}
	}
	again()
	request := func(args string) {
		w.t.Helper()
		a := do("request_redrive", `{"reason":"`+words+`","fix":{"ref":"`+words+`","at":"2026-11-01T12:00:00Z"},`+args+`}`)
		if a.Result == nil || a.Result.IsError {
			w.t.Fatalf("%s: %s", args, a.raw)
		}
		ids = append(ids, a.Result.StructuredContent["request_id"].(string))
	}
	patch := do("propose_patch", `{"queue":"orders","ids":["1","4"],"patch":[{"op":"replace","path":"/currency","value":"EUR"}],"note":"`+words+`"}`)
	request(fmt.Sprintf(`"queue":"orders","ids":["1","4"],"patch_id":%q`, patch.Result.StructuredContent["patch_id"]))
	request(`"queue":"shown","ids":["11","14"]`)
	request(`"queue":"orders","id":"2"`)
	request(`"queue":"shown","id":"12"`)
	request(`"queue":"mail","ids":["21","24"]`)
	for _, id := range ids {
		do("get_redrive", fmt.Sprintf(`{"request_id":%q,"response_format":"detailed"}`, id))
	}
	do("request_redrive", `{"queue":"orders","id":"3","reason":"`+words+`"}`)
	do("request_redrive", `{"queue":"orders","id":"5","reason":"`+words+`","idempotency_key":"sk_live_`+pasted+`"}`)
	do("get_redrive", `{}`)
	do("get_redrive", `{"request_id":"sk_live_`+pasted+`"}`)
	do("cancel_redrive", `{"request_id":"`+ids[4]+`","reason":"`+words+`"}`)
	do("list_dead_letters", `{"queue":"orders","filter":{"error_contains":"sk_live_`+pasted+`","job":"sk_live_`+pasted+`","group":"sk_live_`+pasted+`"}}`)
	for _, argument := range []string{"queue", "cursor", "as_of", "response_format", "sk_live_" + pasted} {
		do("list_dead_letters", fmt.Sprintf(`{"queue":"orders",%q:"sk_live_%s"}`, argument, pasted))
	}
	do("request_redrive", `{"queue":"orders","id":"2","reason":"x","patch_id":"sk_live_`+pasted+`","replace":"sk_live_`+pasted+`"}`)
	do("sk_live_"+pasted, `{}`)
	ask(`{"jsonrpc":"2.0","id":"m","method":"sk_live_` + pasted + `"}`)
	ask(`{"jsonrpc":"2.0","id":"m","sk_live_` + pasted + `":1,"Method":"x"}`)
	ask(`sk_live_` + pasted)
	for _, queue := range []string{"orders", "sk_live_" + pasted} {
		ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":"p","method":"prompts/get","params":{"name":"triage_queue","arguments":{"queue":%q}}}`, queue))
		ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":"c","method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"triage_queue"},"argument":{"name":"queue","value":%q}}}`, queue[:2]))
	}
	ask(`{"jsonrpc":"2.0","id":"t","method":"tools/list"}`)
	c.end()
	return ids
}
