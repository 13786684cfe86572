package cli_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/cli"
)

// What the policy of TestSecrets hides: by its place in the payload, by a
// pattern, and in the environment; pasted stands in callers' words alone.
const (
	byPlace  = "Kq7zR2vXw9LmT4bN"
	oddPlace = `p@ss "wörd"/+<7%&x>` // has another spelling in JSON, in HTML and in an address
	inList   = "Zt5yU8iO1pA3sD6f"
	asNumber = "73918264501"
	byText   = "Hy6Tg5Fr4De3Sw2Q" // behind sk_live_
	asCard   = "4929716350827413"
	password = "Dsn9Pass8Word7Xy"
	pasted   = "Pq8Wo7Ei6Ru5Ty4U" // behind sk_live_
)

const secretsPolicy = `version: 1
state: $WORK/state
people: {ana: {}, $USER: {}}
groups: {oncall: [ana, $USER]}
backends:
  app: {type: sqlite, file: app.db, jobs: {table: jobs, id: id, queue: queue, job: kind, group: worker,
    payload: {column: payload, format: json}, dead: {column: status, in: [failed]},
    error: {column: error, format: json, path: [message], code: [type], stack: [trace]},
    attempts: attempts, max_attempts: max_attempts, enqueued_at: created_at, dead_at: failed_at,
    redrive: {update: {set: {status: queued, failed_at: null}}}}}
  far: {type: postgres, dsn_env: FAR_DSN, jobs: {table: public.jobs, id: id, payload: payload, dead: {column: status, in: [failed]},
    redrive: {update: {set: {status: queued}}}}}
errors:
  - {class: permanent, code: bad-currency, match: 'unknown currency'}
  - {class: transient, code: throttled, match: '\bHTTP 429\b'}
queues:
  orders:
    source: {backend: app, queue: orders}
    redrive: approval
    rules: [{name: poison, when: {error: permanent, patched: false}, do: never}]
    approval: {from: [oncall]}
    patch: {allow: [/currency, /meta]}
    redact: &hide {paths: [/card, /customer, /items/*/token, /pin], text: ['sk_live_\w+', '\b\d{13,19}\b']}
  shown:
    source: {backend: app, queue: shown}
    redrive: approval
    approval: {from: [oncall]}
    patch: {allow: [/currency]}
    redact: {paths: [/card, /customer, /items/*/token, /pin], text: ['sk_live_\w+', '\b\d{13,19}\b'], people: shown}
  mail:
    source: {backend: app, queue: mail}
    redrive: direct
    handler: {idempotent: true}
    limits: {per_plan: 50, per_hour: 200}
    redact: {paths: [/card, /customer, /items/*/token, /pin], text: ['sk_live_\w+', '\b\d{13,19}\b']}
  far:
    source: {backend: far}
    redact: {text: ['sk_live_\w+', '\b\d{13,19}\b']}
`

const secretsTable = `CREATE TABLE jobs (id INTEGER PRIMARY KEY, queue TEXT NOT NULL, kind TEXT, payload TEXT NOT NULL, status TEXT NOT NULL,
	attempts INTEGER NOT NULL DEFAULT 3, max_attempts INTEGER NOT NULL DEFAULT 3, error TEXT, worker TEXT, tenant TEXT, host TEXT,
	created_at TEXT NOT NULL, failed_at TEXT);
	CREATE TRIGGER loud BEFORE UPDATE ON jobs WHEN old.tenant LIKE 'loud%' BEGIN
	SELECT RAISE(ABORT, 'constraint failed for Kq7zR2vXw9LmT4bN and sk_live_Hy6Tg5Fr4De3Sw2Q and 4929716350827413'); END;`

// secretPlace is a workplace whose letters hold secrets in every field.
func secretPlace(t *testing.T) *workplace {
	t.Helper()
	w := newWorkplace(t)
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("$WORK", w.dir, "$USER", u.Username, "&hide ", "").Replace(secretsPolicy)
	if err := os.WriteFile(filepath.Join(w.dir, "policy.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAR_DSN", "postgres://somebody:"+password+"@127.0.0.1:1/nowhere?connect_timeout=1")
	w.exec("DROP TABLE jobs")
	w.exec(secretsTable)
	all := fmt.Sprintf("card %s for %s, token %s, pin %s, key sk_live_%s, number %s", byPlace, oddPlace, inList, asNumber, byText, asCard)
	body := func(name string) string {
		b, err := json.Marshal(map[string]any{
			"order": 1, "currency": "EU", "card": byPlace, "customer": map[string]string{"email": oddPlace}, "items": []any{map[string]string{"token": inList}},
			"pin": json.Number(asNumber), "note": all, "meta": map[string]any{name: 1, "n": asCard},
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	plain, named := body("x"), body("sk_live_"+byText) // what hides in a name keeps a body from being patched
	reason := func(first string) string {
		e, err := json.Marshal(map[string]string{"message": first + ": " + all, "type": "Error_sk_live_" + byText, "trace": "at pay(" + all + ")\n  at main.go:7"})
		if err != nil {
			t.Fatal(err)
		}
		return string(e)
	}
	// In each queue: 1 and 2 may be sent, 3 is poison, 4 makes the database
	// complain, 5 is no JSON and so withheld, 6 repeats its body in its error.
	for i, queue := range []string{"orders", "shown", "mail", "sk_live_" + byText} {
		for n, row := range []struct{ body, reason, tenant string }{
			{plain, reason("HTTP 429"), all}, {plain, reason("HTTP 429"), all}, {named, reason("unknown currency"), all},
			{plain, reason("HTTP 429"), "loud " + all}, {all, reason("HTTP 429"), all}, {named, reason("HTTP 429 in " + named), all},
		} {
			w.exec(`INSERT INTO jobs (id, queue, kind, payload, status, error, worker, tenant, host, created_at, failed_at) VALUES
				(?, ?, ?, ?, 'failed', ?, ?, ?, ?, '2026-11-01T10:00:00Z', '2026-11-01T11:00:00Z')`,
				10*i+n+1, queue, "charge sk_live_"+byText, row.body, row.reason, "worker-"+asCard, row.tenant, asCard)
		}
	}
	return w
}

func (w *workplace) exec(query string, args ...any) {
	w.t.Helper()
	if _, err := w.db.Exec(query, args...); err != nil {
		w.t.Fatal(err)
	}
}

// TestSecrets makes every call that there is, by tools and by commands, with and
// without the right to reveal, and searches all that was said and all that was
// kept beside what must hold content.
func TestSecrets(t *testing.T) {
	w := secretPlace(t)
	t.Chdir(w.dir)
	hidden := newSearcher(t, byPlace, oddPlace, inList, asNumber, byText, asCard, password)
	words := newSearcher(t, pasted)
	ids := secretSession(w, hidden)
	typed := map[string]bool{}
	person := func(line string) string {
		out := w.try(line)
		name, _, _ := strings.Cut(line, " -")
		typed[strings.TrimSpace(name)] = true
		hidden.search("redrive-mcp "+line, out)
		words.search("redrive-mcp "+line, out)
		return out
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("patch", `[{"op":"replace","path":"/currency","value":"EUR"}]`)
	write("guess", `[{"op":"test","path":"/note","value":"x"},{"op":"replace","path":"/currency","value":"EUR"}]`)
	write("take", `{"meta":null}`)
	write("body", `{"currency":"EUR"}`)

	for _, queue := range []string{"orders", "shown", "mail", "far"} {
		person("letters " + queue)
		person("letters " + queue + " --json")
		person("letters " + queue + " --groups")
		person("letters " + queue + " --groups --json")
		person("letters " + queue + " --contains card --class transient")
		person("runbook " + queue)
		person("policy explain " + queue)
	}
	for _, letter := range []string{"orders --id 1", "orders --id 3", "orders --id 5", "orders --id 6", "shown --id 14", "mail --id 23"} {
		person("letters " + letter)
		person("letters " + letter + " --json --offset 3")
		person("policy explain " + letter)
		if !strings.HasPrefix(letter, "shown") {
			person("letters " + letter + " --reveal")
		}
	}
	person("policy explain orders --id 3 --patched")
	if out := w.try("letters shown --id 14 --reveal"); !strings.Contains(out, byPlace) || !strings.Contains(out, asCard) {
		t.Errorf("whoever may see it does not: %s", out)
	}
	for _, change := range []string{"--patch patch", "--patch guess --json", "--merge-patch take", "--body body", ""} {
		person("redrive orders --ids 1,3,5,6 --reason x --dry-run " + change)
	}
	person("redrive shown --id 16 --reason x --dry-run --json")
	person("queues")
	person("queues --json")
	person("queues --rules")
	person("queues --names")
	person("pending")
	person("pending --json")
	for _, id := range ids {
		person("show " + id)
		person("show --json " + id)
	}
	person("show --reveal " + ids[0])
	if out := w.try("show --reveal " + ids[1]); !strings.Contains(out, byPlace) {
		t.Errorf("whoever may see it does not: %s", out)
	}
	// The first is of orders with a patch, the second of shown, the third to deny.
	person("approve " + ids[0] + " --yes")
	person("approve " + ids[1] + " --yes --no-run")
	person("deny " + ids[2] + " --reason early")
	person("cancel " + ids[3] + " --reason early")
	person("run " + ids[1])
	person("run")
	t.Setenv("LOSE_ANSWERS", "1")
	person("redrive mail --id 22 --reason back")
	t.Setenv("LOSE_ANSWERS", "")
	person("redrive mail --id 24 --reason back") // the database complains
	doubt := regexp.MustCompile(`r-[0-9a-z]+`).FindString(person("pending"))
	if doubt == "" {
		t.Error("no request is in doubt")
	}
	person("resolve " + doubt + " --sent --reason seen")
	for _, id := range []string{ids[0], ids[1], doubt} {
		person("show " + id)
		person("audit bundle " + id + " --without-content --out bundle-" + id)
	}
	person("stop --reason tired")
	person("queues")
	person("resume --reason rested")
	person("audit tail -n 500")
	person("audit tail -n 500 --json")
	person("audit search --phase decision")
	person("audit search --queue orders --json")
	shown := map[string]bool{}
	for _, r := range w.records() {
		if kind := r.Phase + r.Tool; !shown[kind] {
			shown[kind] = true
			person("audit show " + r.Op)
		}
	}
	person("audit verify")
	person("audit verify --json")
	person("policy check")
	person("policy check --json")
	person("policy schema")
	person("doctor")
	person("doctor --json")
	person("completion bash")
	person("completion zsh")
	person("version")
	person("help")

	for _, usage := range cli.Usages() {
		name, _, _ := strings.Cut(usage, " [")
		if base := regexp.MustCompile(` [A-Z]+$`).ReplaceAllString(name, ""); !slices.ContainsFunc(mapKeys(typed), func(k string) bool { return k == base || strings.HasPrefix(k, base+" ") }) && base != "demo" && base != "serve" {
			t.Errorf("%s was not tried", usage)
		}
	}
	kept(w, hidden, words)
}

func mapKeys(m map[string]bool) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	return out
}

// kept searches what the program left behind: all but the ledger, what can be
// erased, and the job table itself.
func kept(w *workplace, searchers ...*searcher) {
	w.t.Helper()
	files := 0
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "erasable") || strings.HasPrefix(d.Name(), "ledger.db") || strings.HasPrefix(d.Name(), "app.db") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, s := range searchers {
			s.search(path, string(data))
		}
		files++
		return err
	})
	if err != nil || files < 10 {
		w.t.Errorf("%d files were searched, %v", files, err)
	}
}

// try is a person's command, whatever comes of it: all that it says.
func (w *workplace) try(line string) string {
	w.t.Helper()
	code, said := cli.Say(w.t.Context(), cli.Program{Drivers: drivers()}, strings.Fields(line)...)
	if code > 4 {
		w.t.Errorf("%s ends with exit code %d: %s", line, code, said)
	}
	return said
}
