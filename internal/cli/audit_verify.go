package cli

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/internal/audit"
)

// Exit codes of audit verify.
const (
	exitIntact     = 0
	exitTampered   = 1
	exitWarning    = 2
	exitUnreadable = 3
)

func auditVerify() command {
	return command{
		name:  "verify",
		short: "verify the whole log",
		long: "Reads the whole log and says whether every record is what was written, which one is the first that is not, " +
			"which sends have no recorded outcome, and how far the proof reaches. --expect compares with a head that " +
			"somebody kept where nobody who may write the log could change it. " +
			"Exit codes: 0 intact, 1 tampered, 2 warning (or wrong use), 3 unreadable.",
		example: "redrive-mcp audit verify\nredrive-mcp audit verify --state /mnt/copy --expect 4711:9f86d081884c7d65…",
		setup:   setupAuditVerify,
	}
}

func setupAuditVerify(a *app, f *flag.FlagSet) action {
	l := a.logFlags(f)
	a.jsonFlag(f)
	var heads []audit.Head
	f.Func("expect", "a head that was kept outside, `SEQ:HASH`; may be given several times", func(s string) error {
		head, err := parseHead(s)
		heads = append(heads, head)
		return err
	})
	return func(ctx context.Context, _ []string) error { return a.auditVerify(ctx, l, heads) }
}

func parseHead(s string) (audit.Head, error) {
	seq, hash, _ := strings.Cut(s, ":")
	n, err := strconv.ParseUint(seq, 10, 64)
	if err != nil || !isDigest(hash) {
		return audit.Head{}, fmt.Errorf("a head is a record's number, a colon and its hash of 64 hex digits")
	}
	return audit.Head{Seq: n, Hash: hash}, nil
}

func (a *app) auditVerify(ctx context.Context, l *logFlags, heads []audit.Head) error {
	state, err := l.open(a)
	if err != nil {
		return err
	}
	defer state.Close()
	bar := progress{ui: a.ui}
	report, err := audit.Verify(ctx, state, audit.VerifyOptions{
		Expect: heads,
		Progress: func(done, total int64) {
			if total < 1<<20 {
				return // it is over before it can be read
			}
			bar.draw(done, total, fmt.Sprintf("%s of %s MiB", number(int(done>>20)), number(int(total>>20))))
		},
	})
	bar.clear()
	if err != nil {
		return fail(exitUnreadable, "the log was not read to its end: %w", err)
	}
	if a.json {
		err = a.printJSON(verdictOf(report))
	} else {
		a.printVerdict(report)
	}
	if code := verifyExit(report.Status); err == nil && code != exitIntact {
		err = errSaid(code)
	}
	return err
}

func verifyExit(s audit.Status) int {
	switch s {
	case audit.Intact:
		return exitIntact
	case audit.Tampered:
		return exitTampered
	case audit.Warning:
		return exitWarning
	}
	return exitUnreadable
}

func (a *app) printVerdict(r audit.Report) {
	styles := map[audit.Status]style{audit.Intact: green, audit.Warning: yellow, audit.Tampered: red, audit.Unreadable: red}
	a.printf("%s\n", a.onOut(styles[r.Status], r.Status.String()))
	a.printFacts([][2]string{
		{"log", r.Log},
		{"records", fmt.Sprintf("%s in %s, %s bytes", number(int(r.Records)), count(r.Segments, "segment"), number(int(r.Bytes)))},
		{"head", head(r.Head)},
		{"proof", r.Anchor},
	})
	for _, finding := range findings(r) {
		a.printf("%s\n", oneLine(finding))
	}
	switch r.Status {
	case audit.Intact, audit.Warning:
		if r.Head.Hash != "" {
			a.nextf("keep the head where nobody who may write the log can change it; later: audit verify --expect %s", head(r.Head))
		}
	case audit.Tampered:
		a.nextf("keep a copy of the state folder as it is before anything else is done")
	}
}

func head(h audit.Head) string {
	if h.Hash == "" {
		return ""
	}
	return fmt.Sprintf("%d:%s", h.Seq, h.Hash)
}

// findings are all that a person should look at, a line each.
func findings(r audit.Report) []string {
	var out []string
	if r.Bad != nil {
		out = append(out, "first bad record: "+r.Bad.String())
	}
	for _, o := range r.Objects {
		out = append(out, fmt.Sprintf("object %s, which record %d names: %s", o.Sum, o.Seq, o.Why))
	}
	for _, d := range r.Dangling {
		out = append(out, fmt.Sprintf("%s of plan %s intended in record %d, and no outcome was recorded", count(len(d.Items), "message"), d.Plan, d.Seq))
	}
	out = append(out, r.Warnings...)
	if r.More > 0 {
		out = append(out, fmt.Sprintf("and %s", count(r.More, "more warning")))
	}
	return out
}

// verdict is a report as --json prints it.
type verdict struct {
	Status   string            `json:"status"`
	Log      string            `json:"log,omitempty"`
	Head     string            `json:"head,omitempty"` // SEQ:HASH
	Records  uint64            `json:"records"`
	Segments int               `json:"segments"`
	Bytes    int64             `json:"bytes"`
	Phases   map[string]uint64 `json:"phases"`
	Proof    string            `json:"proof"`
	Findings []string          `json:"findings"`
}

func verdictOf(r audit.Report) verdict {
	return verdict{
		Status: r.Status.String(), Log: r.Log, Head: head(r.Head), Records: r.Records, Segments: r.Segments,
		Bytes: r.Bytes, Phases: r.Phases, Proof: r.Anchor, Findings: append([]string{}, findings(r)...),
	}
}
