package cli_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestWireMessages sends a real server one message after the other. Each is
// answered under its id or not at all, each is in the log, and the session goes
// on.
func TestWireMessages(t *testing.T) {
	w := newWorkplace(t)
	w.kill("mail", 1)
	c := w.serve()
	request := func(id, method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`+"\n", id, method, params)
	}
	deep := func(n int, open, end string) string { return strings.Repeat(open, n) + "1" + strings.Repeat(end, n) }
	cases := []struct{ line, id, says string }{ // an empty says: no answer
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n", "", ""}, // before initialize
		{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n", "", ""},
		{`{"jsonrpc":"2.0","method":"notifications/no-such-thing"}` + "\n", "", ""},
		{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"list_queues"}}` + "\n", "", ""},
		{`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"approve":true}}}` + "\n", "", ""}, // nobody asked
		{call("1", "list_queues", `{}`), "1", `"queues"`},                                                   // before initialize
		{hello, `"hello"`, `"protocolVersion":"2025-11-25"`},
		{hello, `"hello"`, `"protocolVersion":"2025-11-25"`}, // twice
		{strings.Replace(hello, "2025-11-25", "1999-01-01", 1), `"hello"`, `"protocolVersion":"2025-11-25"`},
		{request("1", "ping", `{}`), "1", `"result":{}`},
		{request("-7", "ping", `{}`), "-7", `"result":{}`},
		{request("9007199254740993", "ping", `{}`), "9007199254740993", `"result":{}`},
		{request("123456789012345678901234567890", "ping", `{}`), "123456789012345678901234567890", `"result":{}`},
		{request(`""`, "ping", `{}`), `""`, `"result":{}`},
		{request(`"\u0000é"`, "ping", `{}`), `"\u0000é"`, `"result":{}`},
		{request("null", "ping", `{}`), "", `"id" must be a string or a whole number`},
		{request("1.5", "ping", `{}`), "", `"id" must be`},
		{request("1e3", "ping", `{}`), "", `"id" must be`},
		{request("true", "ping", `{}`), "", `"id" must be`},
		{request("[1]", "ping", `{}`), "", `"id" must be`},
		{request(`{"a":1}`, "ping", `{}`), "", `"id" must be`},
		{request(`"`+strings.Repeat("i", 300)+`"`, "ping", `{}`), "", "longer than 256 bytes"},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}` + "\n", "1", `names "id" twice`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/list"}` + "\n", "1", "case-sensitive"},
		{"[" + strings.TrimSpace(request("1", "ping", `{}`)) + "]\n", "", "a list and not one object"},
		{"[]\n", "", "a list and not one object"},
		{"{}\n", "", `"jsonrpc" must be "2.0"`},
		{"\x00\n", "", "not JSON"},
		{"{\"jsonrpc\":\"2.0\",\x00\"id\":1}\n", "", "not JSON"},
		{"\xff\xfe\n", "", "not JSON"},
		{"\ufeff" + request("1", "ping", `{}`), "", "not JSON"}, // a byte order mark in the middle
		{strings.Replace(request("1", "ping", `{}`), "\n", "\r\n", 1), "1", `"result":{}`},
		{"\r\n", "", ""}, // is no message
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xffng\"}\n", "1", `"method" must be a string`},
		{request("1", "ping", deep(10_001, `{"a":`, "}")), "1", "nested too deep"},
		{request("1", "ping", deep(10_001, "[", "]")), "1", "nested too deep"},
		{request("1", "prompts/get", `{"name":"triage_queue","arguments":{}}`), "1", "`queue` is missing"},
		{request("1", "initialize", `{"protocolVersion":7}`), "1", "The params of initialize do not fit it"},
		{request("1", "resources/list", `{}`), "1", "resources not supported"},
		{request("1", "tasks/list", `{}`), "1", "tasks not supported"},
		{request("1", "elicitation/create", `{}`), "1", "not found"},
		{request("1", "logging/setLevel", `{"level":"debug"}`), "1", "logging not supported"},
		{request("1", "subscriptions/listen", `{}`), "1", "requires protocol version"},
		{request("1", "tools/list", `{"cursor":"forged"}`), "1", "base64"},
		{call("1", "approve", `{}`), "1", "There is no tool approve"},
		{call("1", "LIST_QUEUES", `{}`), "1", "There is no tool LIST_QUEUES"},
		{call("1", "list_queues", `[]`), "1", "`arguments` must be an object, got a list"},
		{call("1", "list_dead_letters", `{"queue":"mail","QUEUE":"orders"}`), "1", "unknown argument `QUEUE`; did you mean `queue`?"},
		{call("1", "list_dead_letters", `{"queue":"mail","queue":"orders"}`), "1", "a name twice"},
		{call("1", "list_dead_letters", "{\"queue\":\"\xff\"}"), "1", "not valid JSON in UTF-8"},
		{call("1", "list_dead_letters", `{"queue":"mail\u0000"}`), "1", `There is no queue "mail\x00"`},
		{call("1", "propose_patch", `{"queue":"orders","id":"1","merge_patch":`+deep(9000, `{"a":`, "}")+`}`), "1", "too deep"},
		{call("1", "propose_patch", `{"queue":"orders","id":"1","patch":[{"op":"add","path":"/currency","value":`+deep(9000, "[", "]")+`}]}`), "1", "too deep"},
		{call("1", "propose_patch", `{"queue":"orders","id":"1","replace_body":"`+strings.Repeat("x", 10<<20)+`"}`), "1", "at most 4194304 a call"},
		{strings.Repeat("x", 17<<20) + "\n", "", "larger than 16777216 bytes"},
		{request("1", "server/discover", "{"+modern+"}"), "1", `"supportedVersions"`},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_queues","arguments":{},` + modern + "}}\n", "2", `"queues"`},
		{request("1", "initialize", "{"+modern+"}"), "1", "was removed in protocol version 2026-07-28"},
		{call("1", "list_queues", `{}`), "1", `"queues"`}, // and on it goes
	}
	messages := 0
	for _, tt := range cases {
		if strings.TrimSpace(tt.line) != "" {
			messages++
		}
		c.send(tt.line)
		if tt.says == "" && tt.id == "" {
			continue
		}
		if a := c.next(); string(a.ID) != tt.id || !strings.Contains(a.raw, tt.says) && !strings.Contains(a.says(), tt.says) {
			t.Errorf("%.90q\nis answered %.300s\nwant id %s and %q", tt.line, a.raw, tt.id, tt.says)
		}
	}
	if rest := c.end(); len(rest) > 0 {
		t.Errorf("more answers: %v", rest)
	}
	if n := w.calls("", ""); n != messages {
		t.Errorf("%d of %d messages are in the log", n, messages)
	}
	w.run("audit", "verify")
}

// TestWireEnds: however the input ends, each of its calls is answered, the answer
// to initialize first, and that is a good end.
func TestWireEnds(t *testing.T) {
	lines := hello
	for id := range 5 {
		lines += call(fmt.Sprint(id), "list_dead_letters", `{"queue":"mail"}`)
	}
	w := newWorkplace(t)
	w.kill("mail", 2)
	for name, input := range map[string]string{
		"no newline at the end":        strings.TrimSuffix(lines, "\n"),
		"a mark, CRLF and blank lines": "\ufeff" + strings.ReplaceAll(lines, "\n", "\r\n \n\n"),
	} {
		c := w.serve()
		c.send(input)
		if a := c.next(); string(a.ID) != `"hello"` {
			t.Errorf("%s: the first answer is %s", name, a.raw)
		}
		rest := c.end()
		for id := range 5 {
			if a, ok := rest[fmt.Sprint(id)]; !ok || a.Error != nil || a.Result.IsError {
				t.Errorf("%s: call %d is answered %s", name, id, a.raw)
			}
		}
	}
	c := w.serve()
	c.send(hello[:40])
	if a := c.end()[""]; a.Error == nil || a.Error.Code != -32700 {
		t.Errorf("half a message is answered %s", a.raw)
	}
}

// TestWireEndInTheMiddle: the client goes while its redrive runs. The call is
// answered with what went and what is free again, nothing is sent later, and the
// log tells the same.
func TestWireEndInTheMiddle(t *testing.T) {
	w := newWorkplace(t)
	w.kill("slow", 8)
	c := w.serve()
	c.send(hello, call("1", "request_redrive", `{"queue":"slow","ids":["1","2","3","4","5","6","7","8"],"reason":"the bank is back"}`))
	c.next()
	c.untilOneWent(w)
	a := c.end()["1"]
	if a.Result == nil || a.Result.IsError {
		t.Fatalf("the call is answered %q", a.raw)
	}
	sent, released := a.Result.StructuredContent["sent"], a.Result.StructuredContent["released"]
	if went := w.count("queued"); sent != float64(went) || released != float64(8-went) || went > 3 {
		t.Errorf("%d went; the answer is %s", went, a.raw)
	}
	if waits := w.run("pending"); !strings.Contains(waits, "nothing waits") {
		t.Errorf("something is left to run: %s", waits)
	}
	w.run("audit", "verify")
}

// untilOneWent waits for the first message of a slow run.
func (c *client) untilOneWent(w *workplace) {
	c.t.Helper()
	for i := 0; w.count("queued") == 0; i++ {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"ping %d","method":"ping"}`+"\n", i))
		c.next()
	}
}

// TestWireTakenBack: a call that was taken back in the middle is not answered and
// stops; those that were waiting, 32 run at once, never begin.
func TestWireTakenBack(t *testing.T) {
	w := newWorkplace(t)
	w.kill("slow", 48)
	c := w.serve()
	c.send(hello)
	c.next()
	for id := range 48 {
		c.send(call(fmt.Sprint(id), "request_redrive", fmt.Sprintf(`{"queue":"slow","id":"%d","reason":"the bank is back"}`, id+1)))
	}
	c.untilOneWent(w)    // what is answered meanwhile is the ping
	for id := range 48 { // the last first, so that no place is free for one that waits
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"no need"}}`+"\n", 47-id))
	}
	c.send(call(`"after"`, "get_redrive", `{}`))
	for id, a := range c.end() {
		if id != `"after"` && strings.Contains(a.raw, "running") {
			t.Errorf("call %s was taken back and answered %s", id, a.raw)
		}
	}
	went := w.count("queued")
	if went > 4 {
		t.Errorf("%d messages were sent", went)
	}
	if n := w.calls("tools/call", "cancelled before it ran"); n < 16-went {
		t.Errorf("%d of 48 calls did not begin", n)
	}
	if n := w.calls("notifications/cancelled", ""); n != 48 {
		t.Errorf("%d of 48 cancellations are in the log", n)
	}
	w.run("audit", "verify")
}

// TestWireForgedAnswers: a client that says a person agreed, unasked, has said
// nothing, in either era; and no client is ever asked, whatever it can do.
func TestWireForgedAnswers(t *testing.T) {
	const forged = `"inputResponses":{"confirm":{"action":"accept","content":{"approve":true}}},"requestState":"approved","task":{"ttl":60000}`
	for i, era := range []string{"", "," + modern} {
		w := newWorkplace(t)
		w.kill("orders", 1)
		c := w.serve()
		if i == 0 {
			c.send(hello)
			c.next()
		}
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"request_redrive","arguments":{"queue":"orders","id":"1","reason":"x"},` + forged + era + "}}\n")
		if a := c.next(); a.Result == nil || a.Result.StructuredContent["status"] != "pending_approval" || strings.Contains(a.raw, "input_required") {
			t.Errorf("the forged answer is answered %s", a.raw)
		}
		c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_redrive","arguments":{"inputResponses":{}}` + era + "}}\n")
		if a := c.next(); !strings.Contains(a.says(), "unknown argument `inputResponses`") {
			t.Errorf("as an argument it is answered %s", a.raw)
		}
		c.end()
		if w.count("failed") != 1 {
			t.Error("it was sent")
		}
	}
}

// ended is what a request came to, also one that is answered before it is over;
// nil where it was refused.
func (c *client) ended(a response) map[string]any {
	c.t.Helper()
	for a.Result != nil && !a.Result.IsError {
		r := a.Result.StructuredContent
		if list, ok := r["requests"].([]any); ok {
			r = list[0].(map[string]any)
		}
		if r["status"] != "running" {
			return r
		}
		c.send(call(`"ended"`, "get_redrive", fmt.Sprintf(`{"request_id":%q}`, r["request_id"])))
		a = c.next()
	}
	return nil
}

// TestWireTwoServers: two processes work on one state folder and ask for the same
// letters. Each letter goes once, whoever was first; one that is killed takes
// nothing with it; the log is one.
func TestWireTwoServers(t *testing.T) {
	const letters = 20
	w := newWorkplace(t)
	w.kill("mail", letters)
	clients := []*client{w.serve(), w.serve()}
	sent := make([]int, len(clients))
	var all sync.WaitGroup
	for n, c := range clients {
		all.Go(func() {
			for id := 1; id <= letters; id++ {
				c.send(call(fmt.Sprint(id), "request_redrive", fmt.Sprintf(`{"queue":"mail","id":"%d","reason":"the relay is back"}`, id)))
				r := c.ended(c.next())
				if r["unknown"] != nil {
					t.Errorf("letter %d: %v", id, r)
				}
				if r["sent"] == float64(1) {
					sent[n]++
				}
			}
		})
	}
	all.Wait()
	// One that finds the table locked for too long leaves its letter dead and says so.
	if went := w.count("queued"); went == 0 || sent[0]+sent[1] != went || went+w.count("failed") != letters {
		t.Errorf("%d letters went, and the servers say %v", went, sent)
	}
	clients[0].cmd.Process.Kill()
	clients[0].cmd.Wait()
	for _, c := range clients[1:] {
		c.send(call(`"still"`, "list_queues", `{}`))
		if a := c.next(); a.Result == nil || a.Result.IsError {
			t.Errorf("after another was killed: %s", a.raw)
		}
		c.end()
	}
	w.run("audit", "verify")
}
