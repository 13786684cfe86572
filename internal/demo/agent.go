package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// patch mends the currency.
const patch = `[{"op":"replace","path":"/currency","value":"EUR"}]`

type group struct {
	Group, Class, Code, Policy string
	Count                      int
	Sample                     []string `json:"sample_ids"`
}

type groups struct {
	AsOf   string `json:"as_of"`
	Groups []group
}

func (g groups) of(code string) (group, error) {
	for _, one := range g.Groups {
		if one.Code == code {
			return one, nil
		}
	}
	return group{}, fmt.Errorf("no group of dead letters has the code %s", code)
}

// redriven is what a request came to.
type redriven struct {
	Status    string
	RequestID string `json:"request_id"`
	Messages  int
	Sent      int
}

// agent plays what an agent would do. It is a script and no model, so that the
// story is the same every time; the pipe and the server are the real ones.
func (s *story) agent(ctx context.Context) (err error) {
	p, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	s.chapter("2. The provider is back, and an agent connects: redrive-mcp serve --policy policy.yaml --principal %s", s.person)
	for _, step := range []func(context.Context, *pipe) error{s.look, s.inspect, s.refused, s.direct, s.propose} {
		if err := step(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// look lists tools, queues and groups.
func (s *story) look(ctx context.Context, p *pipe) error {
	tools, err := p.tools(ctx)
	if err != nil {
		return err
	}
	for _, name := range tools {
		if strings.Contains(name, "approve") || strings.Contains(name, "delete") {
			return fmt.Errorf("the agent is offered %s", name)
		}
	}
	var list struct {
		Queues []struct {
			Queue, Redrive string
			Letters        int
		}
	}
	if err := p.call(ctx, "list_queues", arguments{}, &list); err != nil {
		return err
	}
	s.tool("tools/list: %s, none of them approves or deletes; list_queues; group_dead_letters:", several(len(tools), "tool"))
	for _, q := range list.Queues {
		g, err := s.groups(ctx, p, q.Queue)
		if err != nil {
			return err
		}
		total := 0
		for _, one := range g.Groups {
			s.quote(fmt.Sprintf("%-8s  %2d  %-9s  %-15s  %s", q.Queue, one.Count, one.Class, one.Code, one.Policy))
			total += one.Count
		}
		if total != q.Letters {
			return fmt.Errorf("the groups of %s have %d letters, the queue has %d", q.Queue, total, q.Letters)
		}
	}
	return nil
}

func (s *story) groups(ctx context.Context, p *pipe, queue string) (g groups, err error) {
	return g, p.call(ctx, "group_dead_letters", arguments{"queue": queue}, &g)
}

// inspect shows how a hostile text arrives.
func (s *story) inspect(ctx context.Context, p *pipe) error {
	g, err := s.groups(ctx, p, "payments")
	if err != nil {
		return err
	}
	bad, err := g.of("bad-currency")
	if err != nil {
		return err
	}
	var letter struct{ Text string }
	if err := p.call(ctx, "inspect_dead_letter", arguments{"queue": "payments", "id": bad.Sample[0]}, &letter); err != nil {
		return err
	}
	lines := strings.Split(letter.Text, "\n")
	if err := fenced(lines); err != nil {
		return err
	}
	s.hostile = bad.Sample[0]
	s.tool("inspect_dead_letter payments %s: a stranger's orders arrive fenced, as data; cards stay hidden", bad.Sample[0])
	s.quote(strings.Join(lines[1:], "\n"))
	return nil
}

// fenced checks that hostile text stands between the fences alone, and that no
// card number came through.
func fenced(lines []string) error {
	last := len(lines) - 1
	if last < 3 || !strings.HasPrefix(lines[1], "<<<data ") || lines[last] != ">>>data "+strings.TrimPrefix(lines[1], "<<<data ") {
		return fmt.Errorf("the text of the letter is not fenced: %q", lines)
	}
	inside := strings.Join(lines[2:last], "\n")
	switch {
	case !strings.Contains(inside, hostile):
		return fmt.Errorf("the customer's note is missing: %q", inside)
	case strings.Contains(inside, cardPrefix):
		return fmt.Errorf("a card number came through: %q", inside)
	case strings.Count(inside, "[redacted]") != 2:
		return fmt.Errorf("two card numbers should be hidden: %q", inside)
	}
	return nil
}

// refused asks for what the policy never allows.
func (s *story) refused(ctx context.Context, p *pipe) error {
	g, err := s.groups(ctx, p, "videos")
	if err != nil {
		return err
	}
	broken, err := g.of("truncated-video")
	if err != nil {
		return err
	}
	answer, err := p.refusal(ctx, "request_redrive", arguments{"queue": "videos", "id": broken.Sample[0], "reason": "perhaps it works now"})
	if err != nil {
		return err
	}
	_, why, found := strings.Cut(answer, fmt.Sprintf("%q: ", broken.Sample[0]))
	if !found || !strings.HasPrefix(why, "refused by rule poison of videos") {
		return fmt.Errorf("the refusal should name the letter and the rule: %s", answer)
	}
	s.tool("request_redrive videos %s", broken.Sample[0])
	s.quote(wrap(why))
	return nil
}

// direct redrives what the policy lets an agent redrive itself.
func (s *story) direct(ctx context.Context, p *pipe) error {
	g, err := s.groups(ctx, p, "payments")
	if err != nil {
		return err
	}
	var done []string
	for _, one := range g.Groups {
		if one.Class != "transient" {
			continue
		}
		var r redriven
		if err := p.call(ctx, "request_redrive", arguments{"queue": "payments", "group": one.Group, "as_of": g.AsOf, "max_messages": one.Count,
			"reason": "the payment provider is back", "idempotency_key": "demo-" + one.Code}, &r); err != nil {
			return err
		}
		if r.Status != "done" || r.Sent != one.Count {
			return fmt.Errorf("of %d letters %d were sent, and the request is %s", one.Count, r.Sent, r.Status)
		}
		done = append(done, fmt.Sprintf("%s %s, %d sent", one.Code, r.Status, r.Sent))
	}
	s.tool("request_redrive payments: %s", strings.Join(done, "; "))
	return nil
}

// propose patches what fails unpatched, and asks for it.
func (s *story) propose(ctx context.Context, p *pipe) error {
	g, err := s.groups(ctx, p, "payments")
	if err != nil {
		return err
	}
	bad, err := g.of("bad-currency")
	if err != nil {
		return err
	}
	letters := func(more arguments) arguments {
		a := arguments{"queue": "payments", "group": bad.Group, "as_of": g.AsOf, "max_messages": bad.Count}
		for k, v := range more {
			a[k] = v
		}
		return a
	}
	var tried struct {
		PatchID string `json:"patch_id"`
		Applies int
		Schema  string
	}
	if err := p.call(ctx, "propose_patch", letters(arguments{"patch": json.RawMessage(patch)}), &tried); err != nil {
		return err
	}
	if tried.Applies != bad.Count || tried.Schema != "passes" {
		return fmt.Errorf("the patch applies to %d of %d letters; schema: %s", tried.Applies, bad.Count, tried.Schema)
	}
	s.tool("propose_patch %s: applies to %s, passes the schema", patch, several(tried.Applies, "letter"))
	var r redriven
	if err := p.call(ctx, "request_redrive", letters(arguments{"patch_id": tried.PatchID, "reason": "the shop wrote EU for EUR"}), &r); err != nil {
		return err
	}
	if r.Status != "pending_approval" || r.Messages != bad.Count {
		return fmt.Errorf("the request for %d patched letters is %s with %d", bad.Count, r.Status, r.Messages)
	}
	s.request = r.RequestID
	s.tool("request_redrive payments, patched: %s, %s", r.Status, r.RequestID)
	return nil
}
