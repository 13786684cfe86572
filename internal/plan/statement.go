package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Decisions that a statement can carry.
const (
	Approve = "approve"
	Deny    = "deny"
)

// MaxLines is the longest a statement may be, so that it is read.
const MaxLines = 20

// Anchor ties a statement to the audit log as it was when it was shown.
type Anchor struct {
	Log  string // the log's id
	Seq  uint64 // its newest record
	Hash string // and that record's hash
}

// Statement is the readable form of a decision about a plan: at most MaxLines
// lines of printable ASCII, `name: value`, facts first, foreign words as JSON
// strings and short. The same plan, decision and anchor always give the same
// bytes.
func Statement(p *Plan, digest, decision string, a Anchor) []string {
	s := statement{}
	s.fact("redrive approval", "v1")
	s.fact("decision", decision)
	s.fact("plan", digest)
	s.fact("short", Short(digest))
	s.fact("log", fmt.Sprintf("%s at %d %s", a.Log, a.Seq, a.Hash))
	s.fact("target", p.Target)
	s.fact("destination", p.Destination)
	s.fact("messages", messages(p))
	s.words("patch", patch(p))
	s.fact("hidden values", strconv.Itoa(p.Hidden))
	s.fact("effect", p.Effect+"; attempts: "+p.Attempts)
	s.fact("rate", rate(p.Rate))
	s.fact("policy", p.Policy+" rule "+p.Rule)
	s.fact("not after", p.NotAfter.UTC().Format(time.RFC3339))
	s.fact("nonce", p.Nonce)
	s.words("asked by", Word(p.Requester.Name(), 80)+", as declared")
	if p.GroupLabel != "" {
		s.words("store says, unchecked", Word(p.GroupLabel, 80))
	}
	if p.Fix != nil {
		s.words("fix, unchecked", fix(p.Fix))
	}
	s.words(speaker(p.Requester.Kind)+" says, unchecked", Word(p.Reason, 80))
	return s.lines
}

type statement struct{ lines []string }

// fact adds a value of ours; ascii keeps it on its line whatever it holds.
func (s *statement) fact(name, value string) { s.words(name, ascii(value)) }

// words adds what Word has made of foreign text already.
func (s *statement) words(name, quoted string) {
	s.lines = append(s.lines, name+": "+quoted)
}

// speaker is no foreign word: it stands where names of lines do.
func speaker(kind string) string {
	if kind == "agent" || kind == "person" {
		return kind
	}
	return "requester"
}

func messages(p *Plan) string {
	text := fmt.Sprintf("%d of queue %s", len(p.Items), p.Queue)
	if p.Group != "" {
		text += ", error group " + p.Group
	}
	return text
}

func patch(p *Plan) string {
	switch {
	case p.Body:
		return "the whole body of " + count(changed(p)) + " is replaced"
	case len(p.Patch) == 0:
		return "none, sent as stored"
	}
	paths := p.Patch
	more := ""
	if len(paths) > 8 {
		more = fmt.Sprintf(" and %d more", len(paths)-8)
		paths = paths[:8]
	}
	quoted := make([]string, len(paths))
	for i, path := range paths {
		quoted[i] = Word(path, 40)
	}
	return strings.Join(quoted, " ") + more + " in " + count(changed(p))
}

func count(n int) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}

func changed(p *Plan) (n int) {
	for _, i := range p.Items {
		if i.After != "" {
			n++
		}
	}
	return n
}

func fix(f *Fix) string {
	text := Word(f.Ref, 80)
	if f.At != "" {
		text += " at " + Word(f.At, 40)
	}
	return text
}

func rate(r float64) string {
	if r <= 0 {
		return "as fast as the store takes them"
	}
	return strconv.FormatFloat(r, 'g', -1, 64) + " a second"
}
