package gate_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// tilde is how an id that is no plain word is spelled.
func tilde(raw string) string { return "~" + base64.RawURLEncoding.EncodeToString([]byte(raw)) }

// inspects, proposes and requests are the three calls that take ids.
var idCalls = map[string]func(context.Context, *gate.Agent, string, ...string) error{
	"propose_patch": func(ctx context.Context, a *gate.Agent, queue string, ids ...string) error {
		_, err := a.ProposePatch(ctx, gate.PatchArgs{Queue: queue, IDs: ids, Patch: gate.RawJSON(`[{"op":"replace","path":"/currency","value":"EUR"}]`)})
		return err
	},
	"request_redrive": func(ctx context.Context, a *gate.Agent, queue string, ids ...string) error {
		_, err := a.RequestRedrive(ctx, gate.RedriveArgs{Queue: queue, IDs: ids, Reason: "r"})
		return err
	},
	"inspect_dead_letter": func(ctx context.Context, a *gate.Agent, queue string, ids ...string) error {
		_, err := a.Inspect(ctx, gate.InspectArgs{Queue: queue, ID: ids[0]})
		return err
	},
}

func TestUnknownQueue(t *testing.T) {
	h := open(t, standard)
	a := h.agent()
	calls := map[string]func(string) error{
		"group": func(q string) error { _, err := a.Group(t.Context(), gate.GroupArgs{Queue: q}); return err },
		"list":  func(q string) error { _, err := a.List(t.Context(), gate.ListArgs{Queue: q}); return err },
	}
	for name, call := range idCalls {
		calls[name] = func(q string) error { return call(t.Context(), a, q, "1") }
	}
	for name, call := range calls {
		for _, q := range []string{"", "nope", "Orders", "orders ", "4111111111111111", strings.Repeat("q", 5000), "a\x00b", "\xff", "\u202eorders"} {
			err := call(q)
			refused(t, err, gate.CodeNoQueue, "There is no queue", "frozen, mail, orders")
			if len(err.Error()) > 600 {
				t.Errorf("%s: a sentence of %d bytes", name, len(err.Error()))
			}
		}
	}
	for _, rec := range h.log() {
		if len(rec.Queue) > 120 || strings.Contains(string(rec.Raw), "4111111111111111") {
			t.Errorf("the log repeats what was asked for: %.200s", rec.Raw)
		}
	}
	h.verify()
}

// An id has one spelling, and what is no id of this queue names nothing.
func TestBadIDs(t *testing.T) {
	h := open(t, standard)
	id := h.kill("orders", 9, "TimeoutError: x", `{"id":#,"currency":"EU"}`)[6]
	other := h.kill("mail", 1, "TimeoutError: x", `{"id":#}`)[0]
	a := h.agent()
	cases := []struct {
		id   string
		code gate.Code
	}{
		{"", gate.CodeBadArgument}, {" " + id, gate.CodeBadArgument}, {id + " ", gate.CodeBadArgument}, {id + "\n", gate.CodeBadArgument},
		{"\xff", gate.CodeBadArgument}, {id + "\x00", gate.CodeBadArgument}, {"٧", gate.CodeBadArgument}, {"' OR 1=1", gate.CodeBadArgument},
		{tilde(id), gate.CodeBadArgument}, {"~", gate.CodeNoLetter}, {"~!", gate.CodeBadArgument}, {"~YR", gate.CodeBadArgument}, {"~\n" + "IA", gate.CodeBadArgument},
		{strings.Repeat("7", gate.MaxIDLength+1), gate.CodeBadArgument}, {strings.Repeat("7", gate.MaxIDLength), gate.CodeBadArgument},
		{"0" + id, gate.CodeNoLetter}, {id + ".0", gate.CodeNoLetter}, {"+" + id, gate.CodeNoLetter}, {"-" + id, gate.CodeNoLetter},
		{id + "e0", gate.CodeNoLetter}, {"0x7", gate.CodeNoLetter}, {tilde("\x00"), gate.CodeNoLetter}, {tilde("\xff\xfe"), gate.CodeNoLetter}, {tilde(" " + id), gate.CodeNoLetter},
		{"9223372036854775808", gate.CodeNoLetter}, {"[" + id + "]", gate.CodeNoLetter}, {other, gate.CodeNoLetter},
	}
	for name, call := range idCalls {
		for _, tc := range cases {
			err := call(t.Context(), a, "orders", tc.id)
			if name == "propose_patch" && tc.code == gate.CodeNoLetter {
				if err != nil { // it tells letter by letter what does not apply
					t.Errorf("%s(%q): %v", name, tc.id, err)
				}
				continue
			}
			if err == nil {
				t.Errorf("%s took the id %q", name, tc.id)
				continue
			}
			refused(t, err, tc.code)
			if !utf8.ValidString(err.Error()) || strings.ContainsAny(err.Error(), "\x00\n") || len(err.Error()) > 400 {
				t.Errorf("%s(%q) says %q", name, tc.id, err)
			}
		}
		if name == "inspect_dead_letter" {
			continue
		}
		for _, ids := range [][]string{{}, {id, id}, make([]string, gate.MaxIDs+1)} {
			refused(t, call(t.Context(), a, "orders", ids...), gate.CodeBadArgument, "`ids`")
		}
	}
	if got := h.rows(`SELECT count(*) FROM plans`); got != 0 {
		t.Errorf("%d requests were made", got)
	}
	h.verify()
}

func TestBadListings(t *testing.T) {
	h := open(t, standard)
	h.kill("orders", 5, "TimeoutError: x", `{"id":#}`)
	a := h.agent()
	page := must[*gate.ListResult](t)(a.List(t.Context(), gate.ListArgs{Queue: "orders", Limit: 2}))
	long := strings.Repeat("x", gate.MaxReason+1)
	for name, args := range map[string]gate.ListArgs{
		"a negative limit":         {Limit: -1},
		"too large a limit":        {Limit: gate.MaxList + 1},
		"a forged cursor":          {Cursor: strings.Repeat("A", 80)},
		"a truncated cursor":       {Cursor: page.Cursor[:len(page.Cursor)-2]},
		"no base64":                {Cursor: "§"},
		"a cursor, another filter": {Cursor: page.Cursor, Filter: &gate.Filter{Job: "charge"}},
		"a cursor, another as_of":  {Cursor: page.Cursor, AsOf: "2026-01-01T00:00:00Z"},
		"a year before any queue":  {AsOf: "0000-01-01T00:00:00Z"},
		"the zero time":            {AsOf: "0001-01-01T00:00:00Z"},
		"a year past 9999":         {AsOf: "9999-12-31T23:59:59-23:59"},
		"no time":                  {AsOf: "yesterday"},
		"an SQL time":              {AsOf: "2026-01-01 00:00:00"},
		"since no time":            {Filter: &gate.Filter{Since: "4111111111111111"}},
		"until the zero time":      {Filter: &gate.Filter{Until: "0001-01-01T00:00:00Z"}},
		"since after until":        {Filter: &gate.Filter{Since: "2026-01-02T00:00:00Z", Until: "2026-01-01T00:00:00Z"}},
		"an unknown class":         {Filter: &gate.Filter{ErrorClass: "fatal"}},
		"negative attempts":        {Filter: &gate.Filter{MinAttempts: -1}},
		"a long search":            {Filter: &gate.Filter{ErrorContains: long}},
		"no UTF-8":                 {Filter: &gate.Filter{ErrorContains: "\xff"}},
		"NUL":                      {Filter: &gate.Filter{Job: "a\x00"}},
		"an unknown format":        {ResponseFormat: "xml"},
	} {
		args.Queue = "orders"
		_, err := a.List(t.Context(), args)
		if err == nil {
			t.Errorf("%s was taken", name)
			continue
		}
		refused(t, err, gate.CodeBadArgument)
		if args.Cursor != "" {
			continue
		}
		_, err = a.Group(t.Context(), gate.GroupArgs{Queue: "orders", AsOf: args.AsOf, Filter: args.Filter, Limit: args.Limit, ResponseFormat: args.ResponseFormat})
		refused(t, err, gate.CodeBadArgument)
	}
	_, err := a.List(t.Context(), gate.ListArgs{Queue: "mail", Cursor: page.Cursor})
	refused(t, err, gate.CodeBadArgument, "`cursor`")
	foreign := open(t, standard)
	_, err = foreign.agent().List(t.Context(), gate.ListArgs{Queue: "orders", Cursor: page.Cursor})
	refused(t, err, gate.CodeBadArgument, "`cursor`")
	for _, rec := range h.log() {
		if strings.Contains(string(rec.Raw), "4111111111111111") {
			t.Errorf("the log holds what stood in an argument: %s", rec.Raw)
		}
	}
	h.verify()
}

// No page passes over a letter, whatever bytes its id has.
func TestPagesOverOddIDs(t *testing.T) {
	h := open(t, standard)
	h.exec(`DROP TABLE jobs`)
	h.exec(strings.Replace(strings.TrimSuffix(strings.TrimSpace(table), "CREATE TABLE runs (id INTEGER, payload TEXT);"), "id INTEGER", "id TEXT", 1))
	ids := []string{"'a'", "CAST(x'ff' AS TEXT)", "CAST(x'ff41' AS TEXT)", "CAST(x'fe' AS TEXT)", "CAST(x'efbfbd' AS TEXT)", "'b' || char(8232)", "char(0)", "x'ff'"}
	for _, id := range ids {
		h.exec(`INSERT INTO jobs(id, queue, kind, payload, status, attempts, error, created_at, failed_at)
			VALUES (` + id + `, 'mail', 'k', '{}', 'failed', 3, 'x', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')`)
	}
	seen := map[string]bool{}
	args := gate.ListArgs{Queue: "mail", Limit: 1}
	for range ids {
		page := must[*gate.ListResult](t)(h.agent().List(t.Context(), args))
		if args.Cursor = page.Cursor; len(page.Letters) == 1 {
			seen[page.Letters[0].ID] = true
		}
	}
	if len(seen) != len(ids) || args.Cursor != "" {
		t.Errorf("the pages have %d of %d letters: %v", len(seen), len(ids), seen)
	}
}

// A listing as of a time to come is one as of now: what dies later is not in it.
func TestAsOfIsNeverAhead(t *testing.T) {
	h := open(t, standard)
	h.kill("orders", 4, "TimeoutError: x", `{"id":#}`)
	a := h.agent()
	const ahead = "2999-01-01T00:00:00Z"
	groups := must[*gate.GroupResult](t)(a.Group(t.Context(), gate.GroupArgs{Queue: "orders", AsOf: ahead}))
	page := must[*gate.ListResult](t)(a.List(t.Context(), gate.ListArgs{Queue: "orders", AsOf: ahead, Limit: 2}))
	for _, asOf := range []string{groups.AsOf, page.AsOf} {
		if at, err := time.Parse(time.RFC3339Nano, asOf); err != nil || at.After(time.Now().Add(time.Minute)) {
			t.Errorf("a listing as of %s", asOf)
		}
	}
	h.exec(`INSERT INTO jobs(queue, kind, payload, status, attempts, error, created_at, failed_at)
		VALUES ('orders', 'charge', '{}', 'failed', 3, 'TimeoutError: x', '2026-01-01T00:00:00Z', strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+1 second'))`)
	rest := must[*gate.ListResult](t)(a.List(t.Context(), gate.ListArgs{Queue: "orders", Limit: 10, Cursor: page.Cursor}))
	if len(rest.Letters) != 2 {
		t.Errorf("the second page has %d letters", len(rest.Letters))
	}
	res := must[*gate.RequestResult](t)(a.RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", Group: groups.Groups[0].Group, AsOf: ahead, MaxMessages: 10, Reason: "r"}))
	if res.Messages != 4 {
		t.Errorf("a request as of then has %d letters", res.Messages)
	}
}

func TestBadRequests(t *testing.T) {
	h := open(t, standard)
	id := h.kill("orders", 1, "TimeoutError: x", `{"id":#}`)[0]
	a := h.agent()
	group := must[*gate.GroupResult](t)(a.Group(t.Context(), gate.GroupArgs{Queue: "orders"})).Groups[0].Group
	const now = "2026-11-01T00:00:00Z"
	long := strings.Repeat("é", gate.MaxReason+1)
	for name, args := range map[string]gate.RedriveArgs{
		"nothing named":           {Reason: "r"},
		"an id and ids":           {ID: id, IDs: []string{id}, Reason: "r"},
		"an id and a group":       {ID: id, Group: group, Reason: "r"},
		"as_of with an id":        {ID: id, AsOf: now, Reason: "r"},
		"max_messages with an id": {ID: id, MaxMessages: 1, Reason: "r"},
		"a group without as_of":   {Group: group, MaxMessages: 1, Reason: "r"},
		"a group without a bound": {Group: group, AsOf: now, Reason: "r"},
		"a negative bound":        {Group: group, AsOf: now, MaxMessages: -1, Reason: "r"},
		"a group, the zero time":  {Group: group, AsOf: "0001-01-01T00:00:00Z", MaxMessages: 5, Reason: "r"},
		"a long group":            {Group: strings.Repeat("a", 65), AsOf: now, MaxMessages: 1, Reason: "r"},
		"no reason":               {ID: id},
		"a blank reason":          {ID: id, Reason: " \n"},
		"a long reason":           {ID: id, Reason: long},
		"a reason that is binary": {ID: id, Reason: "\xff"},
		"NUL in a reason":         {ID: id, Reason: "a\x00b"},
		"an empty fix":            {ID: id, Reason: "r", Fix: &gate.Fix{}},
		"a long fix":              {ID: id, Reason: "r", Fix: &gate.Fix{Ref: long}},
		"a fix that is binary":    {ID: id, Reason: "r", Fix: &gate.Fix{Ref: "\xff"}},
		"a fix at no time":        {ID: id, Reason: "r", Fix: &gate.Fix{Ref: "x", At: "now"}},
		"a fix to come":           {ID: id, Reason: "r", Fix: &gate.Fix{Ref: "x", At: "2999-01-01T00:00:00Z"}},
		"a long key":              {ID: id, Reason: "r", IdempotencyKey: strings.Repeat("k", 129)},
		"a key that is binary":    {ID: id, Reason: "r", IdempotencyKey: "\xff"},
		"a key that is a card":    {ID: id, Reason: "r", IdempotencyKey: "4111111111111111"},
		"a patch id of nonsense":  {ID: id, Reason: "r", PatchID: "p-1\n"},
		"a replaced nonsense":     {ID: id, Reason: "r", Replace: "R!"},
	} {
		args.Queue = "orders"
		if _, err := a.RequestRedrive(t.Context(), args); err == nil {
			t.Errorf("%s was taken", name)
		} else {
			refused(t, err, gate.CodeBadArgument)
		}
	}
	_, err := a.RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", Group: group, AsOf: now, MaxMessages: 1_000_000, Reason: "r"})
	refused(t, err, gate.CodeLimit, "at most 1000")
	_, err = a.RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", ID: id, Reason: "r", Replace: "r-22222222"})
	refused(t, err, gate.CodeNoRequest)
	for name, note := range map[string]string{"long": long, "binary": "\xff", "NUL": "\x00"} {
		_, err := a.ProposePatch(t.Context(), gate.PatchArgs{Queue: "orders", ID: id, Note: note, Patch: gate.RawJSON(`[{"op":"add","path":"/currency","value":1}]`)})
		if err == nil {
			t.Errorf("a %s note was taken", name)
		} else {
			refused(t, err, gate.CodeBadArgument, "`note`")
		}
	}
	for _, req := range []string{"r-1\x00", "R-1", strings.Repeat("r", 33), "4111 1111"} {
		_, err := a.GetRedrive(t.Context(), gate.GetArgs{RequestID: req})
		refused(t, err, gate.CodeBadArgument, "`request_id`")
		_, err = a.CancelRedrive(t.Context(), gate.CancelArgs{RequestID: req})
		refused(t, err, gate.CodeBadArgument, "`request_id`")
	}
	_, err = a.CancelRedrive(t.Context(), gate.CancelArgs{RequestID: ""})
	refused(t, err, gate.CodeNoRequest)
	_, err = a.ListQueues(t.Context(), gate.QueuesArgs{ResponseFormat: "x"})
	refused(t, err, gate.CodeBadArgument)
	for _, offset := range []int{-1, -1 << 62} {
		_, err = a.Inspect(t.Context(), gate.InspectArgs{Queue: "orders", ID: id, Offset: offset})
		refused(t, err, gate.CodeBadArgument, "`offset`")
	}
	must[*gate.InspectResult](t)(a.Inspect(t.Context(), gate.InspectArgs{Queue: "orders", ID: id, Offset: 1 << 62}))
	if got := h.rows(`SELECT count(*) FROM plans`); got != 0 {
		t.Errorf("%d requests were made", got)
	}
	// What was refused for its arguments is in the log too.
	if rep := h.verify(); rep.Phases["call"] < 8 {
		t.Errorf("the log has %d calls", rep.Phases["call"])
	}
}

// The words of a client are cut between characters, so that plans stay readable.
func TestNamesOfCallers(t *testing.T) {
	h := open(t, standard)
	for i, name := range []string{"a" + strings.Repeat("é", 60), "\xff\xfe", "evil\x1b[31m\nname", strings.Repeat("日", 200)} {
		a := h.gate.Agent(gate.Caller{Principal: "luis\xff", OSUser: name, Host: name, Session: name})
		a.SetClient(name, name)
		id := h.kill("orders", 1, "TimeoutError: x\xff\xfe"+fmt.Sprint(i), `{"id":#}`)[0]
		groups := must[*gate.GroupResult](t)(a.Group(t.Context(), gate.GroupArgs{Queue: "orders"}))
		res := must[*gate.RequestResult](t)(a.RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", Group: groups.Groups[0].Group, AsOf: groups.AsOf, MaxMessages: 1, Reason: "é\u2028<&>"}))
		shown := must[*gate.ShowResult](t)(h.person("ana").Show(t.Context(), res.RequestID, false))
		for _, line := range shown.Statement {
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Errorf("the statement says %q", line)
			}
		}
		must[*gate.RequestResult](t)(h.person("ana").Approve(t.Context(), res.RequestID, res.Digest, ""))
		must[*gate.RequestResult](t)(h.person("ana").Run(t.Context(), res.RequestID, nil))
		if got := h.work(); len(got) != 1 {
			t.Errorf("client %q: letter %s was not sent: %v", name, id, got)
		}
	}
	h.verify()
}

// One file through a link and a relative path is one place: a policy that names
// its letters twice gets nothing redriven, and one that names them another way
// than before finds its claims and limits again.
func TestOneTableUnderTwoNames(t *testing.T) {
	h := open(t, standard)
	if err := os.Symlink("jobs.db", filepath.Join(h.dir, "link.db")); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"app": "jobs.db", "link": "link.db", "dotted": "../" + filepath.Base(h.dir) + "/jobs.db"}
	use := func(backends ...string) {
		text := fmt.Sprintf("version: 1\nstate: %s\nbackends:\n", filepath.Join(h.dir, "state"))
		_, mapping, _ := strings.Cut(policyHead, "    file: jobs.db\n")
		mapping, _, _ = strings.Cut(mapping, "people:")
		for _, b := range backends {
			text += "  " + b + ":\n    type: sqlite\n    file: " + files[b] + "\n" + mapping
		}
		text += "queues:\n"
		for _, b := range backends {
			text += fmt.Sprintf("  %s:\n    source: {backend: %s, queue: mail}\n    redrive: direct\n    handler: {idempotent: true}\n    limits: {per_hour: 3}\n", b, b)
			text += fmt.Sprintf("  slow-%s:\n    source: {backend: %s, queue: slow}\n    redrive: approval\n", b, b)
		}
		if err := os.WriteFile(filepath.Join(h.dir, "policy.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		h.reopen()
	}
	ask := func(queue, id string) (*gate.RequestResult, error) {
		return h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: queue, ID: id, Reason: "r"})
	}
	slow, ids := h.kill("slow", 1, "x", "{}")[0], h.kill("mail", 4, "x", "{}")
	use("app", "link", "dotted")
	for _, q := range []string{"app", "link", "dotted", "slow-app"} {
		_, err := ask(q, ids[0])
		refused(t, err, gate.CodePolicy, "lead to the same letters", q)
	}
	use("app")
	first := must[*gate.RequestResult](t)(ask("slow-app", slow))
	for i, b := range []string{"app", "link", "dotted", "app"} {
		use(b)
		if b != "app" {
			_, err := ask("slow-"+b, slow)
			refused(t, err, gate.CodeClaimed, first.RequestID)
		}
		res := must[*gate.RequestResult](t)(ask(b, ids[i]))
		if want := []string{"done", "done", "done", "pending_approval"}[i]; res.Status != want {
			t.Errorf("%d: got %+v, want %s", i, res, want)
		}
	}
	h.verify()
}

// Queues overlap too where one is the whole table, where two backends split it by
// different columns, and where one is a view of the other, whatever its ids are;
// a second hard link of a file is refused.
func TestOverlappingQueues(t *testing.T) {
	const view = "CREATE VIEW v AS SELECT id + 1000 AS id, queue, kind, payload, status, attempts, max_attempts, error, created_at, failed_at FROM jobs; CREATE VIEW w AS SELECT * FROM v"
	table := func(old, new string) func(string) string {
		return func(mapping string) string { return strings.Replace(mapping, old, new, 1) }
	}
	same := table("", "")
	for name, c := range map[string]struct {
		app, other func(mapping string) string
		source     string
	}{
		"the whole table":  {same, table("      queue: queue\n", ""), "{backend: other}"},
		"another column":   {same, table("queue: queue\n", "queue: kind\n"), "{backend: other, queue: charge}"},
		"a view":           {same, table("table: jobs", "table: v"), "{backend: other, queue: orders}"},
		"a view's queue":   {same, table("table: jobs", "table: w"), "{backend: other, queue: elsewhere}"},
		"two views":        {table("table: jobs", "table: w"), table("table: jobs", "table: v"), "{backend: other, queue: orders}"},
		"a view, reversed": {table("table: jobs", "table: v"), same, "{backend: other, queue: orders}"},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, standard)
			h.exec(view)
			_, mapping, _ := strings.Cut(policyHead, "    file: jobs.db\n")
			mapping, _, _ = strings.Cut(mapping, "people:")
			const direct = "\n    redrive: direct\n    handler: {idempotent: true}\n    limits: {per_hour: 9}\n"
			h.write("version: 1\nstate: %s\nbackends:\n  app:\n    type: sqlite\n    file: jobs.db\n" + c.app(mapping) +
				"  other:\n    type: sqlite\n    file: jobs.db\n" + c.other(mapping) +
				"queues:\n  orders:\n    source: {backend: app, queue: orders}" + direct + "  twin:\n    source: " + c.source + direct)
			h.reopen()
			id := h.kill("orders", 1, "x", "{}")[0]
			for _, queue := range []string{"twin", "orders"} {
				_, err := h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: queue, ID: id, Reason: "r"})
				refused(t, err, gate.CodePolicy, "lead to the same letters", "orders", "twin")
			}
			if len(h.work()) > 0 {
				t.Error("it was sent")
			}
			told := false
			for _, f := range h.person("ana").Doctor(t.Context()) {
				told = told || f.Level == gate.LevelError && strings.Contains(f.What, "queues orders and twin lead to the same letters")
			}
			if !told {
				t.Error("doctor does not tell")
			}
		})
	}
	h := open(t, standard)
	id := h.kill("mail", 1, "x", "{}")[0]
	if err := os.Link(filepath.Join(h.dir, "jobs.db"), filepath.Join(h.dir, "second.db")); err != nil {
		t.Fatal(err)
	}
	_, err := h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "mail", ID: id, Reason: "r"})
	refused(t, err, gate.CodeStore, "second hard link")
}

// A state folder whose files were lost while everything was stopped stays
// stopped.
func TestLostWhileStopped(t *testing.T) {
	h := open(t, standard)
	if err := h.person("ana").Stop(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	h.gate.Close()
	for _, name := range []string{"ledger.db", "ledger.db-wal", "ledger.db-shm", "audit", "objects"} {
		os.RemoveAll(filepath.Join(h.dir, "state", name))
	}
	h.reopen()
	id := h.kill("mail", 1, "x", "{}")[0]
	_, err := h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "mail", ID: id, Reason: "r"})
	refused(t, err, gate.CodeStopped)
}
