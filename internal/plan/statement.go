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
// lines of printable ASCII, `name: value`, facts first, foreign words quoted and
// short. The same plan, decision and anchor always give the same bytes.
func Statement(p *Plan, digest, decision string, a Anchor) []string {
	s := statement{}
	s.add("redrive approval", "v1")
	s.add("decision", decision)
	s.add("plan", digest)
	s.add("short", Short(digest))
	s.add("log", fmt.Sprintf("%s at %d %s", a.Log, a.Seq, a.Hash))
	s.add("target", p.Target)
	s.add("destination", p.Destination)
	s.add("messages", messages(p))
	s.add("patch", patch(p))
	s.add("hidden values", strconv.Itoa(p.Hidden))
	s.add("effect", p.Effect+"; attempts: "+p.Attempts)
	s.add("rate", rate(p.Rate))
	s.add("policy", p.Policy+" rule "+p.Rule)
	s.add("not after", p.NotAfter.UTC().Format(time.RFC3339))
	s.add("nonce", p.Nonce)
	s.add("asked by", Word(p.Requester.Name(), 80))
	if p.GroupLabel != "" {
		s.add("store says, unchecked", Word(p.GroupLabel, 80))
	}
	if p.Fix != nil {
		s.add("fix, unchecked", Word(strings.TrimSpace(p.Fix.Ref+" "+p.Fix.At), 80))
	}
	s.add(p.Requester.Kind+" says, unchecked", Word(p.Reason, 80))
	return s.lines
}

type statement struct{ lines []string }

// add keeps a line printable whatever the name and the value hold.
func (s *statement) add(name, value string) {
	s.lines = append(s.lines, ascii(name)+": "+ascii(value))
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
		return fmt.Sprintf("the whole body of %d messages is replaced", changed(p))
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
	return fmt.Sprintf("%s%s in %d messages", strings.Join(quoted, " "), more, changed(p))
}

func changed(p *Plan) (n int) {
	for _, i := range p.Items {
		if i.After != "" {
			n++
		}
	}
	return n
}

func rate(r float64) string {
	if r <= 0 {
		return "as fast as the store takes them"
	}
	return strconv.FormatFloat(r, 'g', -1, 64) + " a second"
}

// Word quotes foreign text for a statement: JSON-like, printable ASCII, at most
// max characters of the original.
func Word(s string, max int) string {
	if r := []rune(s); len(r) > max {
		s = string(r[:max]) + "..."
	}
	return strconv.QuoteToASCII(s)
}

// ascii escapes what is not printable ASCII, so that no value can start a line
// of its own or move the cursor.
func ascii(s string) string {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			q := strconv.QuoteToASCII(s)
			return q[1 : len(q)-1]
		}
	}
	return s
}
