package policy

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
)

func (b *builder) queue(name string, raw queue) {
	at := "queues/" + name
	b.name(at, "the queue", name)
	if name == allQueues {
		b.fault(at, "the queue cannot be called all", "to a freeze, all is every queue")
	}
	q := &Queue{
		Name: name, Effect: raw.Redrive.known(), Limits: raw.Limits, Handler: raw.Handler,
		policy: b.p,
		Send:   Send{Rate: float64(raw.Send.Rate), Attempts: string(or(raw.Send.Attempts, b.p.Defaults.Attempts))},
	}
	b.source(q, at+"/source", raw.Source)
	q.Patch = b.patch(at+"/patch", raw.Patch)
	for i := range raw.Rules {
		b.rule(q, fmt.Sprintf("%s/rules/%d", at, i), &raw.Rules[i])
	}
	b.shadows(q, at)
	b.direct(q, at)
	q.Approval = b.approval(at+"/approval", raw.Approval)
	q.Redact = Redaction{Paths: b.patterns(at+"/redact/paths", raw.Redact.Paths), Text: raw.Redact.Text, People: or(raw.Redact.People, "redacted")}
	b.p.Queues[name] = q
}

func (b *builder) source(q *Queue, at string, n *yaml.Node) {
	if n == nil || !b.shaped(n, at, yaml.MappingNode, "a section with keys") {
		return
	}
	name, ok := b.word(n, at, "backend")
	if !ok {
		return
	}
	q.Backend = b.p.Backends[name]
	if q.Backend == nil {
		if _, written := b.raw.Backends[name]; !written {
			b.fault(at+"/backend", fmt.Sprintf("there is no backend %s", quote(name)), b.suggest(name, sorted(b.raw.Backends)))
		}
		return
	}
	q.Source = b.section(n, at, "backend", b.options.Kinds[q.Backend.Kind].NewSource)
	// The backend's settings and not its name: two names may lead to one store.
	q.SourceKey = canonical(b.raw.Backends[name], "") + canonical(n, "backend")
}

// direct refuses a direct redrive whose harm is not bounded.
func (b *builder) direct(q *Queue, at string) {
	where, hourly := "", q.Limits.PerHour > 0
	if q.Effect == Direct {
		where = at + "/redrive"
		if !hourly {
			b.fault(where, fmt.Sprintf("queue %q is redriven directly without a limit per hour", q.Name), `add "limits: {per_hour: N}"`)
		}
	}
	for i, r := range q.Rules {
		if r.Do != Direct {
			continue
		}
		rule := fmt.Sprintf("%s/rules/%d", at, i)
		where = or(where, rule)
		if !hourly && r.Limits.PerHour == 0 {
			b.fault(rule, fmt.Sprintf("rule %q redrives directly without a limit per hour", r.Name), `add "limits: {per_hour: N}" to the rule or the queue`)
		}
	}
	if where != "" && !q.Handler.Idempotent {
		b.fault(where, fmt.Sprintf("queue %q is redriven directly, and its handler is not said to be idempotent", q.Name),
			`a redrive is one more delivery: if a second one does no harm, add "handler: {idempotent: true}"`)
	}
}

func (b *builder) patch(at string, raw patch) PatchRules {
	rules := PatchRules{Allow: b.patterns(at+"/allow", raw.Allow), Replace: raw.Replace, Direct: raw.Direct}
	if b.has(at + "/schema") {
		rules.Schema = b.bodySchema(at+"/schema", raw.Schema)
	}
	return rules
}

func (b *builder) patterns(at string, list []string) []rawjson.Pattern {
	var all []rawjson.Pattern
	for i, text := range list {
		where := fmt.Sprintf("%s/%d", at, i)
		p, err := rawjson.ParsePattern(text)
		if err != nil && !b.bad[where] {
			b.fault(where, fmt.Sprintf("the pointer %s %v", quote(text), errors.Unwrap(err)), `a pointer starts with a slash, as in /customer/email or /items/*/price`)
		}
		if err != nil {
			continue
		}
		all = append(all, p)
	}
	return all
}

// bodySchema reads and compiles a schema file, which must lie beside the policy.
func (b *builder) bodySchema(at, name string) *BodySchema {
	if !b.given(at) {
		return nil
	}
	switch shown := quote(name); {
	case !filepath.IsLocal(name) || path.Clean(name) != name || strings.ContainsAny(name, "\n\t\\"):
		b.fault(at, fmt.Sprintf("the schema %s is not a file in the policy's folder", shown), "write its name relative to the policy file, with no . or ..")
		return nil
	case name == b.file:
		b.fault(at, "the schema is the policy file itself", "name a file of its own")
		return nil
	}
	// Read once, however many queues name it: what the digest is over is what is used.
	if s := b.schemas[name]; s != nil {
		return s
	}
	data, err := b.read(name)
	if err == nil && len(data) > maxFile {
		err = errors.New("it is larger than 1 MiB")
	}
	if err != nil {
		b.fault(at, fmt.Sprintf("the schema %s cannot be read", quote(name)), reason(err))
		return nil
	}
	s := &BodySchema{Name: name, Data: data}
	if err := s.compile(); err != nil {
		b.fault(at, fmt.Sprintf("the schema %s is not a JSON Schema: %s", quote(name), oneLine(err)), "mend that file")
		return nil
	}
	b.p.addFile(name, data)
	b.schemas[name] = s
	return s
}
