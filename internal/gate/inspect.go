package gate

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
)

func (s *session) inspect(ctx context.Context, args InspectArgs) (*InspectResult, error) {
	id, err := checkID("id", args.ID)
	if err == nil && args.Offset < 0 {
		err = refuse(CodeBadArgument, "`offset` must be 0 or more, got %d.", args.Offset)
	}
	if err == nil {
		_, err = format(args.ResponseFormat)
	}
	if err != nil {
		return nil, s.refusedArgs(ctx, "inspect_dead_letter", args.Queue, err)
	}
	c, err := s.begin(ctx, "inspect_dead_letter", args.Queue, audit.Arg{Key: "id", Value: showID(id)}, audit.Arg{Key: "reveal", Value: args.Reveal})
	if err != nil {
		return nil, err
	}
	res, err := c.inspect(ctx, args, id)
	if err = c.done(ctx, err); err != nil {
		return nil, err
	}
	return res, nil
}

func checkID(name, id string) (string, error) {
	switch {
	case id == "":
		return "", refuse(CodeBadArgument, "`%s` is missing; take an id from list_dead_letters.", name)
	case len(id) > MaxIDLength:
		return "", refuse(CodeBadArgument, "`%s` has %d bytes; no id has more than %d.", name, len(id), MaxIDLength)
	}
	raw, ok := readID(id)
	if !ok {
		return "", refuse(CodeBadArgument, "`%s` %s is not an id as list_dead_letters gives it.", name, quote(id))
	}
	return raw, nil
}

func (c *call) inspect(ctx context.Context, args InspectArgs, id string) (*InspectResult, error) {
	t, err := c.open(ctx, args.Queue)
	if err != nil {
		return nil, err
	}
	reveal := args.Reveal && c.caller.Kind == KindPerson
	if reveal && t.q.Redact.People != "shown" {
		return nil, refuse(CodePolicy, "The policy shows people of %s no hidden values (redact.people).", args.Queue)
	}
	if _, err := c.looked(ctx, t, false); err != nil {
		return nil, err
	}
	for d, err := range t.store.Scan(ctx, backends.Query{Queue: args.Queue, IDs: []string{id}, Bodies: true}) {
		if err != nil {
			return nil, storeRefusal(args.Queue, err)
		}
		return c.inspected(ctx, t, d, args, reveal)
	}
	return nil, noLetter(args.Queue, id)
}

func noLetter(queue, id string) error {
	return refuse(CodeNoLetter, "No dead letter of %s has the id %s. It may have been retried or deleted; list_dead_letters shows what is there.", queue, quote(showID(id)))
}

func (c *call) inspected(ctx context.Context, t *target, d *backends.DeadLetter, args InspectArgs, reveal bool) (*InspectResult, error) {
	plain := t.look(c.pol, d, false) // the group is that of every listing
	v := plain
	if reveal {
		v = t.look(c.pol, d, true)
	}
	res := &InspectResult{
		Queue: t.q.Name, ID: showID(d.ID), Group: plain.group, Class: v.class, Code: v.shown,
		ReasonFrom: d.Reason.Source, Attempts: attempts(d.Attempts),
		Enqueued: stamp(d.Times.Enqueued), LastTry: stamp(d.Times.LastAttempt), Died: stamp(d.Times.Dead), Expires: stamp(d.Expires),
		Payload: PayloadInfo{
			Bytes: v.size, ContentType: d.Payload.ContentType, Provenance: string(d.Payload.Provenance),
			Patchable: d.Payload.Patchable, WhyNot: d.Payload.WhyNot, Hidden: plain.body.places, Withheld: v.body.withheld,
		},
		Offset: args.Offset,
	}
	if res.ReasonFrom == "" {
		res.ReasonFrom = "none"
	}
	if v.body.withheld != "" {
		res.Payload.Patchable, res.Payload.WhyNot, res.Payload.ContentType = false, "it is withheld", ""
	}
	if err := c.inspectHistory(ctx, t, d, res); err != nil {
		return nil, err
	}
	if err := c.inspectPolicy(ctx, t, d, &plain, res); err != nil {
		return nil, err
	}
	res.Text, res.NextOffset = inspectText(&v, args.Offset, args.ResponseFormat == Detailed)
	return res, nil
}

func (c *call) inspectHistory(ctx context.Context, t *target, d *backends.DeadLetter, res *InspectResult) error {
	earlier, err := c.st.ledger.Earlier(ctx, t.at.Letters(), d.ID)
	if err != nil {
		return err
	}
	for _, e := range earlier {
		res.Earlier = append(res.Earlier, Earlier{RequestID: e.Plan, At: stamp(e.At), Outcome: outcomeWord(e.State)})
	}
	res.Replays = len(earlier)
	if len(res.Earlier) > 10 {
		res.Earlier = res.Earlier[len(res.Earlier)-10:]
	}
	claims, err := c.st.ledger.Claims(ctx, t.at.Letters(), []string{d.ID})
	res.Claimed = claims[d.ID]
	return err
}

func (c *call) inspectPolicy(ctx context.Context, t *target, d *backends.DeadLetter, v *seen, res *InspectResult) error {
	k, err := c.learn(ctx, t, []string{d.ID}, v.group)
	if err != nil {
		return err
	}
	as := t.q.Decide(k.facts(c, d, v, judged{}))
	patched := t.q.Decide(k.facts(c, d, v, judged{mends: true}))
	res.Policy = PolicyInfo{Unpatched: string(as.Effect), Why: as.Why, Allowed: as.Allowed, Patched: string(patched.Effect)}
	for _, p := range t.q.Patch.Allow {
		res.Policy.Paths = append(res.Policy.Paths, p.String())
	}
	switch {
	case res.Claimed != "":
		res.Next = "Request " + res.Claimed + " has this letter; see get_redrive."
	case as.Effect != "never":
		res.Next = "It may be requested as it is with request_redrive; if the payload is at fault, propose_patch first."
	case patched.Effect != "never" && len(res.Policy.Paths) > 0 && res.Payload.Patchable:
		res.Next = "As it is the policy forbids it. Propose a patch for " + strings.Join(res.Policy.Paths, ", ") + ", or leave it for a person."
	default:
		res.Next = "The policy forbids a redrive. Leave it for a person and say what you found."
	}
	return nil
}

// inspectText is error, stack, fields and a window of the payload, fenced; in
// detail more of the stack. The offset moves through the payload alone.
func inspectText(v *seen, offset int, detailed bool) (text string, next int) {
	var b strings.Builder
	stack := 300
	if detailed {
		stack = 1200
	}
	if offset == 0 {
		section(&b, "job", v.job, 200)
		section(&b, "code", v.code, 200)
		section(&b, "error", v.message, 1000)
		section(&b, "stack", v.stack, stack)
		for i, a := range v.attrs {
			if b.Len() > MaxShown-1000 {
				fmt.Fprintf(&b, "(%d more fields)\n", len(v.attrs)-i)
				break
			}
			section(&b, "field "+oneLine(a.name, 60), a.value, 200)
		}
	}
	left := max(1000, MaxShown-utf8.RuneCountInString(b.String()))
	body := printable(v.body.data)
	if v.body.withheld != "" {
		body = "(withheld: " + v.body.withheld + ")"
	}
	part, next := window(body, offset, left)
	b.WriteString("payload:\n" + part)
	return fence(b.String()), next
}

func section(b *strings.Builder, name, text string, max int) {
	if text != "" {
		b.WriteString(name + ": " + cut(backends.Sanitise(text), max) + "\n")
	}
}

// printable is a body as text, base64 where it is none.
func printable(body []byte) string {
	if utf8.Valid(body) {
		return backends.Sanitise(string(body))
	}
	return "base64:" + base64.StdEncoding.EncodeToString(body)
}

func outcomeWord(s backends.State) string {
	switch s {
	case backends.Claimed:
		return "waiting"
	case backends.Intended:
		return "in doubt"
	case backends.Sent, backends.Done:
		return "sent"
	}
	return string(s)
}
