package stdio

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// peer is a client at the other end of a pipe, and a server with tools that
// make one thing visible each.
type peer struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	done chan error
	stop context.CancelFunc

	stderr  strings.Builder
	started chan string   // ids of held calls that began
	release chan struct{} // lets one held call go on
	causes  chan error    // why held calls were cut short

	mu    sync.Mutex
	heard []Heard
	deaf  error // what Hear answers
	who   []mcp.Implementation
}

func connect(t *testing.T, change func(*Options)) *peer {
	p := &peer{t: t, done: make(chan error, 1), started: make(chan string, 2000), release: make(chan struct{}), causes: make(chan error, 2000)}
	o := Options{Stderr: &p.stderr, Hear: p.hear, Client: p.client}
	if change != nil {
		change(&o)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p.in, p.out = inW, bufio.NewReaderSize(outR, 1<<20)
	ctx, cancel := context.WithCancel(t.Context())
	p.stop = cancel
	go func() {
		p.done <- Serve(ctx, p.server(), inR, outW, o)
		outW.Close()
	}()
	t.Cleanup(func() { cancel(); inW.Close(); outR.Close() })
	return p
}

func (p *peer) hear(_ context.Context, h Heard) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = append(p.heard, h)
	return p.deaf
}

func (p *peer) client(i mcp.Implementation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.who = append(p.who, i)
}

func (p *peer) server() *server.MCPServer {
	s := server.NewMCPServer("tiny", "1", server.WithToolCapabilities(false), server.WithPromptCapabilities(false))
	s.AddTool(mcp.NewTool("echo"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(string(CallFrom(ctx).Arguments)), nil
	})
	s.AddTool(mcp.NewTool("own"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		CallFrom(ctx).Recorded()
		return mcp.NewToolResultText("recorded elsewhere"), nil
	})
	s.AddTool(mcp.NewTool("hold"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		p.started <- string(CallFrom(ctx).Arguments)
		select {
		case <-p.release:
			return mcp.NewToolResultText("held"), nil
		case <-ctx.Done():
			p.causes <- context.Cause(ctx)
			return mcp.NewToolResultError("cut short"), nil
		}
	})
	s.AddTool(mcp.NewTool("panic"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		panic("secret-dsn")
	})
	s.AddTool(mcp.NewTool("forged"), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(fmt.Sprint(len(r.Params.InputResponses), r.Params.RequestState, r.Params.Task)), nil
	})
	s.AddPrompt(mcp.NewPrompt("picky"), func(ctx context.Context, _ mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		CallFrom(ctx).BadParams("no queue")
		return nil, errors.New("`queue` is missing")
	})
	return s
}

func (p *peer) send(lines ...string) {
	p.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(p.in, l); err != nil {
			p.t.Errorf("sending: %v", err)
			return
		}
	}
}

// answer is one line of the server.
type answer struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		ProtocolVersion   string   `json:"protocolVersion"`
		SupportedVersions []string `json:"supportedVersions"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	raw string
}

func (a answer) text() string {
	if len(a.Result.Content) == 0 {
		return ""
	}
	return a.Result.Content[0].Text
}

func (p *peer) next() (a answer) {
	p.t.Helper()
	raw, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("reading an answer: %v (%q)", err, raw)
	}
	a.raw = raw
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		p.t.Fatalf("answer %q: %v", raw, err)
	}
	return a
}

// end closes the input and gives what was still answered.
func (p *peer) end() (rest []string) {
	p.t.Helper()
	p.in.Close()
	for {
		l, err := p.out.ReadString('\n')
		if err != nil {
			break
		}
		rest = append(rest, l)
	}
	if err := <-p.done; err != nil {
		p.t.Errorf("Serve = %v, want nil", err)
	}
	return rest
}

func (p *peer) records() []Heard {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Heard(nil), p.heard...)
}

func call(id, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", id, tool, args)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"peer","version":"2"}}}` + "\n"

func TestInitializeIsAnsweredBeforeWhatFollows(t *testing.T) {
	for range 50 {
		p := connect(t, nil)
		go p.send(initialize + call("2", "echo", `{}`) + `{"jsonrpc":"2.0","id":3,"method":"ping"}` + "\n" + call("4", "echo", `{}`))
		if a := p.next(); string(a.ID) != "1" || a.Result.ProtocolVersion != "2025-11-25" {
			t.Fatalf("first answer %s", a.raw)
		}
		if rest := p.end(); len(rest) != 3 {
			t.Fatalf("%d answers after initialize, want 3: %q", len(rest), rest)
		}
		if len(p.who) != 1 || p.who[0].Name != "peer" {
			t.Fatalf("client %v", p.who)
		}
	}
}

func TestLastLineNeedsNoNewline(t *testing.T) {
	p := connect(t, nil)
	go func() {
		p.send(strings.TrimSpace(call("1", "echo", `{"a":1}`)))
		p.in.Close()
	}()
	if a := p.next(); a.text() != `{"a":1}` {
		t.Errorf("answer %s", a.raw)
	}
	p.end()
}

func TestEndOfInputWaitsForCalls(t *testing.T) {
	p := connect(t, nil)
	p.send(call("1", "hold", `1`), call("2", "hold", `2`))
	<-p.started
	<-p.started
	p.in.Close()
	close(p.release)
	if rest := p.end(); len(rest) != 2 {
		t.Errorf("answers %q, want two", rest)
	}
}

func TestEndOfInputDoesNotWaitForEver(t *testing.T) {
	p := connect(t, func(o *Options) { o.grace = time.Millisecond })
	p.send(call("1", "hold", `1`))
	<-p.started
	if rest := p.end(); len(rest) != 0 {
		t.Errorf("answers %q, want none", rest)
	}
}

// TestEndIsToldWhileCallsAreServed: the held call goes on only because of it.
func TestEndIsToldWhileCallsAreServed(t *testing.T) {
	for name, end := range map[string]func(*peer){
		"input":   func(p *peer) { p.in.Close() },
		"context": func(p *peer) { p.stop() },
	} {
		told := make(chan struct{})
		p := connect(t, func(o *Options) { o.linger, o.Ended = time.Millisecond, func() { close(told) } })
		p.send(call("1", "hold", `1`))
		<-p.started
		end(p)
		<-told
		close(p.release)
		if a := p.next(); a.text() != "held" && name == "input" {
			t.Errorf("end of the %s: answer %s", name, a.raw)
		}
		p.end()
	}
}

// TestEndIsToldAfterPipedCalls: the input ends before its calls do.
func TestEndIsToldAfterPipedCalls(t *testing.T) {
	told := make(chan struct{})
	p := connect(t, func(o *Options) { o.linger, o.Ended = time.Hour, func() { close(told) } })
	p.send(call("1", "hold", `1`))
	<-p.started
	p.in.Close()
	select {
	case p.release <- struct{}{}:
	case <-told:
		t.Error("the end was told while the call was held")
	}
	p.end()
	<-told
}

// TestServeWaitsForTheEnd: whoever was told of it may still be at work.
func TestServeWaitsForTheEnd(t *testing.T) {
	over := false
	p := connect(t, func(o *Options) { o.Ended = func() { over = true } })
	p.end()
	if !over {
		t.Error("Serve returned before")
	}
}

func TestEndOfContextIsNoError(t *testing.T) {
	p := connect(t, nil)
	p.send(call("1", "hold", `1`))
	<-p.started
	p.stop()
	if a := p.next(); a.text() != "cut short" {
		t.Errorf("answer %s", a.raw)
	}
	if err := <-p.done; err != nil {
		t.Errorf("Serve = %v", err)
	}
}

func TestCancelledInTheMiddleIsNotAnswered(t *testing.T) {
	p := connect(t, nil)
	p.send(call(`"x"`, "hold", `1`))
	<-p.started
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\u0078"}}` + "\n")
	if rest := p.end(); len(rest) != 0 {
		t.Errorf("answers %q, want none", rest)
	}
}

// TestTakenBackHasACause tells a call that the client took back from one whose
// session ends.
func TestTakenBackHasACause(t *testing.T) {
	mine := errors.New("taken back")
	p := connect(t, func(o *Options) { o.Cancelled = mine })
	p.send(call("1", "hold", `1`), call("2", "hold", `2`))
	<-p.started
	<-p.started
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n")
	if cause := <-p.causes; cause != mine {
		t.Errorf("cancelled because of %v", cause)
	}
	p.stop()
	if cause := <-p.causes; !errors.Is(cause, context.Canceled) || cause == mine {
		t.Errorf("the end of the session is %v", cause)
	}
	p.end()
}

// TestCancelledWhileQueuedDoesNotRun: messages are taken in their order, so the
// answer to the ping shows that the cancellation before it was taken. That the
// pipe has accepted it shows nothing yet.
func TestCancelledWhileQueuedDoesNotRun(t *testing.T) {
	p := connect(t, nil)
	for i := range workers {
		p.send(call(fmt.Sprint(i), "hold", `"early"`))
		<-p.started
	}
	p.send(call("100", "hold", `"late"`),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":100}}`+"\n",
		`{"jsonrpc":"2.0","id":"ping","method":"ping"}`+"\n")
	if a := p.next(); string(a.ID) != `"ping"` {
		t.Fatalf("answer %s, want the ping's", a.raw)
	}
	p.send(call("101", "echo", `{}`))
	close(p.release)
	rest := p.end()
	if len(rest) != workers+1 {
		t.Errorf("%d answers, want %d", len(rest), workers+1)
	}
	if len(p.started) != 0 {
		t.Errorf("the cancelled call ran")
	}
	if !has(p.records(), Heard{"tools/call", "hold", "cancelled before it ran"}) {
		t.Errorf("the cancelled call was not recorded: %v", p.records())
	}
}

func TestPingPassesSlowCalls(t *testing.T) {
	p := connect(t, nil)
	for i := range workers + 5 {
		p.send(call(fmt.Sprint(i), "hold", `1`))
	}
	p.send(`{"jsonrpc":"2.0","id":"ping","method":"ping"}` + "\n")
	if a := p.next(); string(a.ID) != `"ping"` {
		t.Errorf("answer %s", a.raw)
	}
	close(p.release)
	p.end()
}

func TestTooManyCallsAreTurnedAway(t *testing.T) {
	p := connect(t, nil)
	for i := range workers {
		p.send(call(fmt.Sprint(i), "hold", `1`))
		<-p.started
	}
	for i := range queue {
		p.send(call(fmt.Sprint(1000+i), "echo", `{}`))
	}
	go p.send(call(`"over"`, "echo", `{}`))
	if a := p.next(); string(a.ID) != `"over"` || !a.Result.IsError || !strings.Contains(a.text(), "Too many calls") {
		t.Errorf("answer %s", a.raw)
	}
	close(p.release)
	if rest := p.end(); len(rest) != workers+queue {
		t.Errorf("%d answers, want %d", len(rest), workers+queue)
	}
}

func has(all []Heard, want Heard) bool {
	for _, h := range all {
		if h == want {
			return true
		}
	}
	return false
}
