package sqljobs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// block is the first fenced block of a page behind a heading.
func block(t *testing.T, page, heading string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, heading)
	_, rest, opened := strings.Cut(rest, "\n```")
	_, rest, named := strings.Cut(rest, "\n")
	text, _, closed := strings.Cut(rest, "\n```")
	if !found || !opened || !named || !closed {
		t.Fatalf("the page has no block behind %q", heading)
	}
	return text
}

// privilege is one right of one role, as a GRANT and a REVOKE spell it.
type privilege struct{ right, on, role string }

func (p privilege) grant() string  { return "GRANT " + p.right + " ON " + p.on + " TO " + p.role }
func (p privilege) revoke() string { return "REVOKE " + p.right + " ON " + p.on + " FROM " + p.role }

// privileges takes GRANTs apart: a right, a column and a role each.
func privileges(sql string) (out []privilege) {
	grants := regexp.MustCompile(`GRANT (.+?) +ON (.+?) +TO (.+?);`)
	columns := regexp.MustCompile(`^(\w+) \((.+)\)$`)
	for _, g := range grants.FindAllStringSubmatch(sql, -1) {
		var rights []string
		if c := columns.FindStringSubmatch(g[1]); c != nil {
			for _, column := range strings.Split(c[2], ", ") {
				rights = append(rights, c[1]+" ("+column+")")
			}
		} else {
			rights = strings.Split(g[1], ", ")
		}
		for _, right := range rights {
			for _, role := range strings.Split(g[3], ", ") {
				out = append(out, privilege{strings.TrimSpace(right), g[2], role})
			}
		}
	}
	return out
}

// TestDocumentedGrants runs the page about job tables as an operator would: its
// mapping, its receipts table, its grants and its index are enough, without a
// warning, and not one of the grants can be left out.
func TestDocumentedGrants(t *testing.T) {
	raw, err := os.ReadFile("../../docs/job-tables.md")
	must(t, err)
	page := string(raw)
	s := newSchema(t)
	proofs := s.name + "_x"
	here := strings.NewReplacer("SCHEMA redrive", "SCHEMA "+proofs, "redrive.receipts", proofs+".receipts",
		"SCHEMA app", "SCHEMA "+s.name, "app.jobs", s.name+".jobs", "redrive_read", s.reader, "redrive_write", s.writer, " CONCURRENTLY", "")
	_, mapping, _ := strings.Cut(here.Replace(block(t, page, "# Job tables")), "    receipts:")
	mapping, _, _ = strings.Cut("    receipts:"+mapping, "queues:")
	mapping = strings.ReplaceAll("\n"+mapping, "\n    ", "\n")

	s.exec(t, `REVOKE ALL ON SCHEMA SCHEMA FROM READER, WRITER; DROP TABLE receipts;
		CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text, job_type text, payload jsonb, status text,
			attempts int, max_attempts int, last_error text, created_at timestamptz, failed_at timestamptz, locked_by text, run_at timestamptz)`)
	s.exec(t, here.Replace(block(t, page, "## Receipts")))
	t.Cleanup(func() { s.exec(t, "DROP SCHEMA "+proofs+" CASCADE") })
	s.exec(t, here.Replace(block(t, page, "## An index for listings")))
	rights := privileges(here.Replace(block(t, page, "## Grants")))
	if len(rights) < 5 {
		t.Fatalf("the page grants only %v", rights)
	}
	for _, p := range rights {
		s.exec(t, p.grant())
	}
	s.exec(t, `INSERT INTO jobs (queue, payload, status, attempts, failed_at) SELECT 'default', '{}', 'failed', 3, now() FROM generate_series(1, $1::int)`, len(rights)+1)

	s.evening(t, mapping, func(step string, err error) { must(t, err) })
	for _, p := range rights {
		s.exec(t, p.revoke())
		refused := false
		s.evening(t, mapping, func(step string, err error) {
			if code := backends.CodeOf(err); err != nil && code != backends.NoAccess && code != backends.BadMapping {
				t.Errorf("without %s, %s fails with %v", p.grant(), step, err)
			}
			refused = refused || err != nil
		})
		if !refused {
			t.Errorf("nothing needs %s", p.grant())
		}
		s.exec(t, p.grant())
	}
}

// evening checks the store, and looks at a letter and redrives it.
func (s *schema) evening(t *testing.T, mapping string, done func(step string, err error)) {
	t.Helper()
	st := s.open(t, mapping, map[string]string{"jobs": "default"})
	defer st.Close()
	warnings, err := checkUp(t, st)
	done("the check", err)
	if err == nil && strings.Contains(strings.ReplaceAll(warnings, "until GRANT", ""), "GRANT") {
		t.Errorf("the check passes and warns: %s", warnings)
	}
	var items []backends.Item
	for l, err := range st.Scan(t.Context(), backends.Query{Queue: "jobs", Bodies: true}) {
		if err != nil {
			done("a scan", err)
			return
		}
		items = []backends.Item{{Ref: l.Ref}}
		break
	}
	_, err = redrive(t, st, items, "reset")
	done("a redrive", err)
}
