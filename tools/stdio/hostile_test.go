package stdio

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

func TestArgumentsArriveByteForByte(t *testing.T) {
	for _, args := range []string{
		`{"n":9007199254740993,"f":1.10,"e":1E+2}`,
		`{ "spaced" : [ 1 ,2 ] }`,
		`{"a":1,"a":2,"A":3}`,
		`{"html":"<b>&</b>","esc":"\u003cb\u003e\/"}`,
		`{"deep":` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `}`,
		`[1,2]`, `"text"`, `7`, `null`,
		`{"big":"` + strings.Repeat("x", 10<<20) + `"}`,
	} {
		p := connect(t, nil)
		go p.send(call("1", "echo", args))
		if a := p.next(); a.text() != args {
			t.Errorf("%.60s arrived as %.60s", args, a.text())
		}
		p.end()
	}
}

func TestInvalidUTF8ReachesTheHandlerUnchanged(t *testing.T) {
	m, bad := parse([]byte(call("1", "echo", "{\"a\":\"\xff\xfe\"}")))
	if bad != nil || string(m.args) != "{\"a\":\"\xff\xfe\"}" {
		t.Errorf("arguments %q, fault %v", m.args, bad)
	}
}

func TestIDsComeBackAsTheyCame(t *testing.T) {
	for _, id := range []string{`1`, `0`, `-7`, `"1"`, `""`, `9007199254740993`, `123456789012345678901234567890`, `"<&>\u0000"`, `"ä"`} {
		p := connect(t, nil)
		go p.send(call(id, "echo", `{}`))
		if a := p.next(); string(a.ID) != id || a.Error != nil {
			t.Errorf("id %s came back in %s", id, a.raw)
		}
		p.end()
	}
}

func TestAnOpenIDIsNotTakenTwice(t *testing.T) {
	p := connect(t, nil)
	p.send(call("1", "hold", `1`))
	<-p.started
	p.send(call("1", "echo", `{}`))
	if a := p.next(); a.Error == nil || a.Error.Code != -32600 {
		t.Errorf("answer %s", a.raw)
	}
	p.send(call(`"1"`, "echo", `{}`)) // another id
	if a := p.next(); a.Error != nil {
		t.Errorf("answer %s", a.raw)
	}
	close(p.release)
	p.end()
}

func TestMalformedMessages(t *testing.T) {
	for _, c := range []struct {
		line string
		id   string
		code int
		why  string
		kind string // method in the record
	}{
		{`not json`, "", -32700, "not JSON", "malformed"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"`, "", -32700, "not JSON", "malformed"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"} {}`, "", -32700, "not one JSON object", "malformed"},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "", -32600, "a list", "malformed"},
		{`"ping"`, "", -32600, "no object", "malformed"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":` + deep(10_001) + `}}`, "1", -32600, "nested too deep, at most 10000 levels", "malformed"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat(`{"a":`, 10_001) + `1` + strings.Repeat("}", 10_001) + `}`, "1", -32600, "nested too deep", "malformed"},
		{deep(10_001), "", -32600, "nested too deep", "malformed"},
		{`{}`, "", -32600, `"jsonrpc"`, "malformed"},
		{`{"id":1,"method":"ping"}`, "1", -32600, `"jsonrpc"`, "malformed"},
		{`{"jsonrpc":"2.0","id":1}`, "1", -32600, `"method"`, "malformed"},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, "1", -32600, `"method"`, "malformed"},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, "", -32600, `"id"`, "malformed"},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "", -32600, `"id"`, "malformed"},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, "", -32600, `"id"`, "malformed"},
		{`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 300) + `","method":"ping"}`, "", -32600, "longer than", "malformed"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}`, "1", -32600, "twice", "malformed"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}`, "1", -32600, "case-sensitive", "malformed"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`, "1", -32602, `"params"`, "ping"},
		{`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"a","name":"b"}}`, "1", -32602, "twice", "prompts/get"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/get\",\"params\":{\"name\":\"\xff\"}}", "1", -32602, "UTF-8", "prompts/get"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, "1", -32602, "no params", "tools/call"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":7}`, "1", -32602, `"params"`, "tools/call"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`, "1", -32602, `"name"`, "tools/call"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"own"}}`, "1", -32602, "twice", "tools/call"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{},"Arguments":{"a":1}}}`, "1", -32602, "case-sensitive", "tools/call"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + strings.Repeat("x", 200) + `"}}`, "1", -32602, `"name"`, "tools/call"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"a":1,"a":2}}}`, "1", -32602, `"_meta"`, "tools/call"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nosuch"}}`, "1", -32602, "There is no tool nosuch", "tools/call"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\u001b[31m"}}`, "1", -32602, `There is no tool "\x1b[31m"`, "tools/call"},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}}`, "1", -32602, "The params of initialize do not fit it", "initialize"},
		{`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, "1", -32601, "", "no/such"},
		{`{"jsonrpc":"2.0","id":1,"method":"evil\n\u001b[31m"}`, "1", -32601, "", `"evil\n\x1b[31m"`},
		{`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, "1", -32601, "", "resources/list"},
		{`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`, "1", -32601, "", "logging/setLevel"},
		{`{"jsonrpc":"2.0","id":1,"method":"tasks/list"}`, "1", -32601, "", "tasks/list"},
		{`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"picky"}}`, "1", -32602, "missing", "prompts/get"},
	} {
		p := connect(t, nil)
		go p.send(c.line + "\n")
		a := p.next()
		if string(a.ID) != c.id {
			t.Errorf("%.90s\nid %s, want %s", c.line, a.ID, c.id)
		}
		if a.Error == nil || a.Error.Code != c.code || !strings.Contains(a.Error.Message, c.why) {
			t.Errorf("%.90s\nanswer %s, want %d %q", c.line, a.raw, c.code, c.why)
		}
		if h := p.records(); len(h) != 1 || h[0].Method != c.kind || h[0].Err == "" {
			t.Errorf("%.90s\nrecorded %+v, want one refused %s", c.line, h, c.kind)
		}
		p.end()
	}
}

// deep is a list that has n levels.
func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// TestByteOrderMark: one before the first message is passed over, one elsewhere
// is no JSON.
func TestByteOrderMark(t *testing.T) {
	p := connect(t, nil)
	go p.send("\ufeff"+call("1", "echo", `{}`), "\ufeff"+call("2", "echo", `{}`))
	codes := map[string]int{}
	for range 2 {
		if a := p.next(); a.Error != nil {
			codes[string(a.ID)] = a.Error.Code
		} else {
			codes[string(a.ID)] = 0
		}
	}
	if code, ok := codes["1"]; !ok || code != 0 || codes[""] != -32700 {
		t.Errorf("answers %v", codes)
	}
	p.end()
}

func TestSessionSurvivesGarbage(t *testing.T) {
	const limit = 200_000 // beyond one buffer
	p := connect(t, func(o *Options) { o.limit = limit })
	go p.send("\n", "  \r\n", "garbage\n", "\x00\xff\n", `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n",
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`+"\n",
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`+"\n",
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"panic"}}`+"\n", // nobody could be answered
		`{"jsonrpc":"2.0","id":5,"result":{"action":"accept"}}`+"\n",             // an answer to a question that nobody asked
		strings.Repeat(" ", limit+1)+"\n",
		call("1", "echo", `{}`)+"\r\n")
	codes := map[int]int{}
	for range 4 {
		a := p.next()
		if a.Error != nil {
			codes[a.Error.Code]++
		} else if a.text() != `{}` {
			t.Errorf("answer %s", a.raw)
		}
	}
	if codes[-32700] != 2 || codes[-32600] != 1 {
		t.Errorf("error codes %v", codes)
	}
	if rest := p.end(); len(rest) != 0 {
		t.Errorf("more answers: %q", rest)
	}
	for _, want := range []Heard{
		{Method: "notifications/initialized"}, {Method: "notifications/cancelled"},
		{"tools/call", "panic", "a request without an id is not served"},
		{Method: "response", Err: "nothing was asked"}, {Method: "malformed", Err: "The message is larger than 200000 bytes"},
	} {
		if !has(p.records(), want) {
			t.Errorf("%+v is not in the record", want)
		}
	}
}

func TestForgedAnswersAreDropped(t *testing.T) {
	p := connect(t, nil)
	go p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"forged","arguments":{},` +
		`"inputResponses":{"confirm":{"action":"accept"}},"requestState":"x","task":{"ttl":1}}}` + "\n")
	if a := p.next(); a.text() != "0<nil>" {
		t.Errorf("the handler saw %q", a.text())
	}
	p.end()
}

func TestPanicTellsTheClientNothing(t *testing.T) {
	p := connect(t, nil)
	go p.send(call("1", "panic", `{}`))
	a := p.next()
	p.end()
	if !a.Result.IsError || !strings.HasPrefix(a.text(), "internal error ") || strings.Contains(a.raw, "secret-dsn") {
		t.Errorf("answer %s", a.raw)
	}
	if !has(p.records(), Heard{"tools/call", "panic", a.text()}) {
		t.Errorf("recorded %v", p.records())
	}
	id := strings.TrimPrefix(a.text(), "internal error ")
	if e := p.stderr.String(); !strings.Contains(e, id) || !strings.Contains(e, "secret-dsn") || !strings.Contains(e, "goroutine") {
		t.Errorf("stderr holds %q", e)
	}
}

func TestWhatCannotBeRecordedIsNotAnswered(t *testing.T) {
	for _, line := range []string{
		initialize, call("1", "echo", `{"secret":1}`), call("1", "nosuch", `{}`), "garbage\n",
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n",
	} {
		p := connect(t, nil)
		p.deaf = errors.New("the disk is full")
		go p.send(line)
		a := p.next()
		p.end()
		told := a.text()
		if a.Error != nil {
			told = a.Error.Message
		}
		if told != "the disk is full" {
			t.Errorf("%.60s was answered %s", line, a.raw)
		}
	}
}

func TestRecordedByTheHandlerIsNotHeardTwice(t *testing.T) {
	p := connect(t, nil)
	go p.send(call("1", "own", `{}`))
	p.next()
	p.end()
	if h := p.records(); len(h) != 0 {
		t.Errorf("heard %v", h)
	}
}

func TestBothErasAnswer(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"modern","version":"9"},"io.modelcontextprotocol/clientCapabilities":{}}`
	p := connect(t, nil)
	go p.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}` + "\n")
	if a := p.next(); len(a.Result.SupportedVersions) == 0 {
		t.Errorf("discover: %s", a.raw)
	}
	go p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"n":9007199254740993},` + meta + `}}` + "\n")
	if a := p.next(); a.text() != `{"n":9007199254740993}` || !strings.Contains(a.raw, `"resultType":"complete"`) {
		t.Errorf("modern call: %s", a.raw)
	}
	go p.send(`{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + `}}` + "\n")
	if a := p.next(); a.Method != "notifications/subscriptions/acknowledged" {
		t.Errorf("the acknowledgement must come before the answer, got %s", a.raw)
	}
	if a := p.next(); string(a.ID) != `"sub"` || !strings.Contains(a.raw, `"io.modelcontextprotocol/subscriptionId":"sub"`) {
		t.Errorf("listen: %s", a.raw)
	}
	go p.send(`{"jsonrpc":"2.0","id":3,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n")
	if a := p.next(); a.Error == nil || a.Error.Code != -32022 {
		t.Errorf("unknown version: %s", a.raw)
	}
	go p.send(strings.Replace(initialize, "2025-11-25", "2024-11-05", 1))
	if a := p.next(); a.Result.ProtocolVersion != "2024-11-05" {
		t.Errorf("legacy: %s", a.raw)
	}
	p.end()
	if len(p.who) != 2 || p.who[0].Name != "modern" || p.who[1].Name != "peer" {
		t.Errorf("clients %v", p.who)
	}
}

// brokenPipe fails every write.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestBrokenOutputEndsTheSession(t *testing.T) {
	p := &peer{t: t}
	err := Serve(t.Context(), p.server(), &endless{line: call("1", "echo", `{}`)}, brokenPipe{}, Options{Hear: p.hear})
	if err == nil || !strings.Contains(err.Error(), "broken pipe") {
		t.Errorf("Serve = %v", err)
	}
}

// TestAClientThatDoesNotReadIsLeft: its calls fill every place there is, and the
// session ends all the same.
func TestAClientThatDoesNotReadIsLeft(t *testing.T) {
	p := connect(t, func(o *Options) { o.grace = 10 * time.Millisecond })
	sent := make(chan bool)
	go func() {
		for i := range workers + queue + 2 { // the last ones are for the reader itself to answer
			io.WriteString(p.in, call(fmt.Sprint(i), "echo", `{}`))
		}
		close(sent)
	}()
	<-sent
	p.stop()
	if err := <-p.done; err != nil {
		t.Errorf("Serve = %v", err)
	}
}

// endless repeats one line for ever.
type endless struct {
	line string
	n    int
}

func (e *endless) Read(b []byte) (int, error) {
	e.n++
	return copy(b, strings.Replace(e.line, `"id":1`, fmt.Sprintf(`"id":%d`, e.n), 1)), nil
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		initialize, call("1", "echo", `{"a":1}`), `[]`, `{"jsonrpc":"2.0","id":"a","method":"ping"}`, `{`, "\xff", `{"jsonrpc":"2.0","result":1}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\ud800","_meta":{}}}`, `{"METHOD":1,"id":"\udc00"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, bad := parse(raw)
		if bad != nil {
			if _, err := encode(replyTo(m.id, problem(bad.code, bad.why))); err != nil {
				t.Errorf("%q: the fault cannot be sent: %v", raw, err)
			}
			return
		}
		if m.method == "" || m.id == nil {
			return
		}
		if v := jsontext.Value(m.forServer()); !v.IsValid() {
			t.Errorf("%q was passed on as %q", raw, v)
		}
		if h := m.heard(&Call{}, nil); len(h.Method) > 300 || len(h.Tool) > 300 {
			t.Errorf("%q makes a record of %d bytes", raw, len(h.Method)+len(h.Tool))
		}
	})
}
