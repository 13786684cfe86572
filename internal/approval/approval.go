// Package approval judges whether the decisions that were recorded about a plan
// are enough to run it.
//
// Guarantee: one denial by a person whom the need names, or who asked, is final;
// a person's approval counts once; an approval counts only for the digest it
// names, only from those whom the need names, only with a proof that is as strong
// as the need asks, and only while it is valid. What is missing is said.
//
// Limit: decisions carry the proof `none`: the command line's word for the
// operating-system user who typed them. Signatures are not built yet, so an
// agent that can run commands as that user can decide too.
package approval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Need is what it takes. People are resolved names; nil means anybody, an empty
// list nobody.
type Need struct {
	People     []string
	From       string // how to name them to a reader: "1 of oncall"
	Count      int
	Proof      string // the weakest that counts: none, key, touch or pin; empty: none
	Separation string // agent: who asked, or had an agent ask, may approve; person: somebody else must
	ValidFor   time.Duration

	// A need that was made stricter still hears the denials that either of the
	// two would have heard.
	deniers   []string
	anyDenier bool
}

// Decision is what one person said about one digest.
type Decision struct {
	Person string
	Yes    bool
	Digest string
	Proof  string
	At     time.Time
	Reason string
}

// Request is the side that asked.
type Request struct {
	Digest    string
	Principal string // the person who asked, or whom the agent acts for
}

// Verdict says whether a plan may run.
type Verdict struct {
	Approved bool
	Denied   bool
	By       []string // who counted
	Missing  string   // a sentence, empty if approved
}

// Stricter is a need that satisfies both: the people that both name, the larger
// count, the stronger proof, the shorter validity. It approves only what both
// approve.
func Stricter(a, b Need) Need {
	n := a
	switch {
	case a.People == nil:
		n.People, n.From = b.People, b.From
	case b.People != nil:
		n.People = intersect(a.People, b.People)
		if !slices.Equal(n.People, a.People) {
			n.From = b.From
		}
	}
	n.deniers = slices.Concat(a.People, a.deniers, b.People, b.deniers)
	n.anyDenier = a.anyDenier || b.anyDenier || a.People == nil || b.People == nil
	n.Count = max(a.Count, b.Count)
	if s := strength(b.Proof); s < 0 || strength(a.Proof) >= 0 && s > strength(a.Proof) {
		n.Proof = b.Proof
	}
	if b.Separation == "person" {
		n.Separation = b.Separation
	}
	if n.ValidFor == 0 || b.ValidFor > 0 && b.ValidFor < n.ValidFor {
		n.ValidFor = b.ValidFor
	}
	return n
}

func intersect(a, b []string) []string {
	out := []string{} // not nil: nobody is not anybody
	for _, p := range a {
		if slices.Contains(b, p) {
			out = append(out, p)
		}
	}
	return out
}

// Judge weighs decisions, in whatever order they come. A person's approval
// counts once; a denial counts at any time, also after that person's own
// approval.
func Judge(n Need, r Request, ds []Decision, now time.Time) Verdict {
	var v Verdict
	for _, d := range ds {
		switch {
		case d.Digest != r.Digest:
		case !d.Yes && MayDeny(n, r, d.Person):
			return Verdict{Denied: true, By: []string{d.Person}, Missing: d.Person + " denied it"}
		case !d.Yes, !May(n, r, d.Person), !proves(d.Proof, n.Proof), slices.Contains(v.By, d.Person):
		case n.ValidFor > 0 && now.After(d.At.Add(n.ValidFor)):
		default:
			v.By = append(v.By, d.Person)
		}
	}
	count := max(n.Count, 1)
	v.Approved = len(v.By) >= count
	if !v.Approved {
		v.Missing = missing(n, count, len(v.By))
	}
	return v
}

// May says whether a person's approval counts.
func May(n Need, r Request, person string) bool {
	if person == "" || n.People != nil && !slices.Contains(n.People, person) {
		return false
	}
	return r.Principal != person || n.Separation != "person"
}

// MayDeny says whether a person's denial counts. Separation is about saying yes:
// who asked, or for whom an agent did, may take it back.
func MayDeny(n Need, r Request, person string) bool {
	return person != "" && (n.People == nil || n.anyDenier || person == r.Principal ||
		slices.Contains(n.People, person) || slices.Contains(n.deniers, person))
}

// proves says whether a proof is as strong as the one that is asked. A word that
// is not known here proves nothing, and nothing proves what it asks.
func proves(proof, asked string) bool {
	return strength(asked) >= 0 && strength(proof) >= strength(asked)
}

func strength(proof string) int {
	return slices.Index([]string{"none", "key", "touch", "pin"}, cmp.Or(proof, "none"))
}

func missing(n Need, count, have int) string {
	who := n.From
	if who == "" {
		who = "anybody"
	}
	if n.People != nil {
		who += " (" + strings.Join(n.People, ", ") + ")"
	}
	if n.Proof != "" && n.Proof != "none" {
		who += fmt.Sprintf(", with a proof of %q", n.Proof)
	}
	return fmt.Sprintf("%d of %d approvals that are valid now, from %s", have, count, who)
}
