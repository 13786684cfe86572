package tools

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

const slowQueue = `  slow:
    source: {backend: app, queue: slow}
    redrive: direct
    handler: {idempotent: true}
    send: {rate: 1/s}
    limits: {per_plan: 50, per_hour: 200}
`

// slowRun is a house whose agent has asked, as request 1, for eight letters that
// go out one a second; the first is out.
func slowRun(t *testing.T) *house {
	t.Helper()
	h := newHouseWith(t, slowQueue)
	for id := 11; id <= 18; id++ {
		h.kill(id, "slow", `{}`, "SMTP timed out")
	}
	h.connect()
	h.ask("initialize", hello)
	h.write(`{"jsonrpc":"2.0","id":"run","method":"tools/call","params":{"name":"request_redrive","arguments":` +
		`{"queue":"slow","ids":["11","12","13","14","15","16","17","18"],"reason":"the mail server is back"}}}`)
	for h.sent() == 0 {
		h.ask("ping", `{}`)
	}
	return h
}

func (h *house) sent() (n int) {
	h.t.Helper()
	if err := h.db.QueryRow("SELECT count(*) FROM jobs WHERE queue = 'slow' AND status = 'queued'").Scan(&n); err != nil {
		h.t.Fatal(err)
	}
	return n
}

// TestAClientThatIsGoneStopsItsRun: the batch in hand is finished, the rest is
// released, and the call is still answered with that.
func TestAClientThatIsGoneStopsItsRun(t *testing.T) {
	h := slowRun(t)
	h.in.Close()
	r := h.read()
	if err := <-h.done; err != nil {
		t.Errorf("Serve = %v", err)
	}
	var told struct {
		Status string
		Counts map[string]int
	}
	if err := json.Unmarshal(r.Result.StructuredContent, &told); err != nil {
		t.Fatalf("%v in %s", err, r.raw)
	}
	if n := h.sent(); n > 3 || told.Status == "running" {
		t.Errorf("%d were sent; the answer is %s", n, r.raw)
	}
}

// TestACallTakenBackStopsItsRun: nobody reads the answer, so the run is over
// once the request says so.
func TestACallTakenBackStopsItsRun(t *testing.T) {
	h := slowRun(t)
	h.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"run"}}`)
	for {
		r := h.call("get_redrive", `{}`)
		if r.Result.IsError {
			t.Fatal(r.raw)
		}
		if !strings.Contains(r.text(), `"running"`) {
			break
		}
	}
	if n := h.sent(); n > 3 {
		t.Errorf("%d were sent", n)
	}
	h.close()
}

// TestAPipeIsAnsweredToItsEnd: the input ends at once, and every call that was in
// it is answered.
func TestAPipeIsAnsweredToItsEnd(t *testing.T) {
	for range 20 {
		h := newHouse(t)
		lines := fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":%s}`+"\n", hello)
		for id := 1; id <= 5; id++ {
			lines += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"list_dead_letters","arguments":{"queue":"mail"}}}`+"\n", id)
		}
		go func() {
			io.WriteString(h.in, lines)
			h.in.Close()
		}()
		for range 6 {
			if r := h.read(); r.Error != nil || r.Result.IsError {
				t.Errorf("answer %s", r.raw)
			}
		}
		h.close()
	}
}
