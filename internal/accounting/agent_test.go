package accounting

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// agent asks for redrives over and over, from one server to the next.
type agent struct {
	w    *world
	rnd  *rand.Rand
	name string
	c    *client
	mine []string // its requests
	keys int
}

const mend = `[{"op":"replace","path":"/currency","value":"EUR"}]`

func (a *agent) run(ctx context.Context) {
	for ctx.Err() == nil {
		a.step()
		pause(ctx, time.Duration(a.rnd.IntN(30))*time.Millisecond)
	}
	if a.c != nil {
		a.c.leave(a.rnd.IntN(2) == 0)
	}
}

// step does one thing; whatever ends the server makes the next step begin with
// another one.
func (a *agent) step() {
	err := error(nil)
	if a.c == nil {
		a.c, err = a.w.connect("luis")
	}
	if err == nil {
		err = a.act()
	}
	var no refusal
	switch {
	case err == nil:
		a.w.tally.add("calls answered", 1)
		return
	case errors.As(err, &no):
		a.w.tally.add("calls refused", 1)
		a.w.tally.say(string(no))
		if !strings.Contains(string(no), "audit log") {
			return
		}
		// After a full disk a server takes no more calls: it is started again.
	case !errors.Is(err, errGone):
		a.w.fault("agent %s: %v", a.name, err)
	}
	if a.c != nil {
		a.c.leave(a.rnd.IntN(2) == 0)
		a.c = nil
	}
}

func (a *agent) act() error {
	queue := queues[a.rnd.IntN(len(queues))]
	var any struct{}
	switch n := a.rnd.IntN(20); {
	case n < 8:
		return a.group(queue)
	case n < 15:
		return a.letters(queue)
	case n < 16:
		return a.c.call("list_queues", arguments{}, &any)
	case len(a.mine) == 0:
		return a.c.call("get_redrive", arguments{}, &any)
	case n < 18:
		return a.c.call("get_redrive", arguments{"request_id": a.some()}, &any)
	}
	return a.c.call("cancel_redrive", arguments{"request_id": a.some(), "reason": "on second thoughts"}, &any)
}

func (a *agent) some() string { return a.mine[a.rnd.IntN(len(a.mine))] }

// group asks for a whole group, patched where the same bytes would fail again.
func (a *agent) group(queue string) error {
	var found struct {
		AsOf   string `json:"as_of"`
		Groups []struct{ Group, Code string }
	}
	if err := a.c.call("group_dead_letters", arguments{"queue": queue}, &found); err != nil || len(found.Groups) == 0 {
		return err
	}
	g := found.Groups[a.rnd.IntN(len(found.Groups))]
	what := arguments{"queue": queue, "group": g.Group, "as_of": found.AsOf, "max_messages": 1 + a.rnd.IntN(40)}
	return a.request(what, g.Code)
}

// letters asks for letters by their ids.
func (a *agent) letters(queue string) error {
	var found struct{ Letters []struct{ ID, Code string } }
	if err := a.c.call("list_dead_letters", arguments{"queue": queue, "limit": 1 + a.rnd.IntN(100)}, &found); err != nil || len(found.Letters) == 0 {
		return err
	}
	first := found.Letters[a.rnd.IntN(len(found.Letters))]
	var any struct{}
	if a.rnd.IntN(4) == 0 {
		if err := a.c.call("inspect_dead_letter", arguments{"queue": queue, "id": first.ID}, &any); err != nil {
			return err
		}
	}
	ids := []string{first.ID}
	for _, l := range found.Letters {
		if l.ID != first.ID && a.rnd.IntN(3) == 0 && (l.Code == first.Code || a.rnd.IntN(50) == 0) {
			ids = append(ids, l.ID)
		}
	}
	return a.request(arguments{"queue": queue, "ids": ids[:min(len(ids), 25)]}, first.Code)
}

// request proposes a patch where one is needed, mostly, and asks. An agent whose
// server died asks the next one again, under the same key.
func (a *agent) request(what arguments, code string) error {
	if code == "bad-currency" && a.rnd.IntN(5) > 0 {
		var patch struct {
			ID string `json:"patch_id"`
		}
		with := arguments{"patch": mustJSON(mend)}
		for k, v := range what {
			with[k] = v
		}
		if err := a.c.call("propose_patch", with, &patch); err != nil {
			return err
		}
		what["patch_id"] = patch.ID
	}
	a.keys++
	what["reason"], what["idempotency_key"] = "the provider is back", fmt.Sprintf("%s-%d", a.name, a.keys)
	if a.rnd.IntN(3) == 0 {
		p, d := a.c.p, time.Duration(a.rnd.IntN(60))*time.Millisecond
		time.AfterFunc(d, func() {
			if p.kill() {
				a.w.tally.add("killed: serve", 1)
			}
		})
	}
	err := a.ask(what)
	if errors.Is(err, errGone) && a.rnd.IntN(2) == 0 {
		a.c.leave(true)
		if a.c, err = a.w.connect("luis"); err == nil {
			err = a.ask(what)
		}
	}
	return err
}

func (a *agent) ask(what arguments) error {
	var res struct {
		RequestID string `json:"request_id"`
		Status    string
	}
	err := a.c.call("request_redrive", what, &res)
	if err == nil {
		a.mine = append(a.mine, res.RequestID)
		a.w.tally.add("requests", 1)
	}
	return err
}
