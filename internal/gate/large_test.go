package gate_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// Groups are counted in memory bounded by their number, and those that are not
// told apart are counted all the same.
func TestManyLetters(t *testing.T) {
	const letters, kinds = 60_000, 11_000
	h := open(t, standard)
	h.exec(`CREATE INDEX by_death ON jobs(queue, status, failed_at, id)`)
	h.exec(`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ? - 1)
		INSERT INTO jobs(queue, kind, payload, status, attempts, error, created_at, failed_at)
		SELECT 'mail', 'k' || (i % ?), '{"pad":"' || hex(zeroblob(100)) || '"}', 'failed', 3, NULL, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z' FROM n`, letters, kinds)
	a := h.agent()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := must[*gate.GroupResult](t)(a.Group(t.Context(), gate.GroupArgs{Queue: "mail", Limit: 50}))
	runtime.GC()
	runtime.ReadMemStats(&after)
	sum := res.OtherSum
	for _, g := range res.Groups {
		sum += g.Count
	}
	if res.Scanned != letters || sum != letters || len(res.Groups) != 50 || res.Others != 10_000-50+1 {
		t.Errorf("%d scanned, %d counted, %d groups and %d others", res.Scanned, sum, len(res.Groups), res.Others)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("%d MB stay after the call", grown>>20)
	}
	// A page that looks for what is rare ends and goes on.
	page := must[*gate.ListResult](t)(a.List(t.Context(), gate.ListArgs{Queue: "mail", Filter: &gate.Filter{ErrorContains: "nowhere"}}))
	if page.Scanned != 50_000 || page.Cursor == "" {
		t.Errorf("got %d scanned, cursor %q", page.Scanned, page.Cursor)
	}
	page = must[*gate.ListResult](t)(a.List(t.Context(), gate.ListArgs{Queue: "mail", Cursor: page.Cursor, Filter: &gate.Filter{ErrorContains: "nowhere"}}))
	if page.Scanned != letters-50_000 || page.Cursor != "" {
		t.Errorf("got %d scanned, cursor %q", page.Scanned, page.Cursor)
	}
}

// A payload of many megabytes is shown in windows, patched and sent; more of
// them than fit into one request are refused.
func TestLargePayloads(t *testing.T) {
	h := open(t, standard)
	a := h.agent()
	pad := strings.Repeat("é", 5<<20)
	ids := h.kill("orders", 2, "boom", `{"currency":"EU","pad":"`+pad+`","end":1}`)
	in := must[*gate.InspectResult](t)(a.Inspect(t.Context(), gate.InspectArgs{Queue: "orders", ID: ids[0]}))
	if len(in.Text) > 3*gate.MaxShown || in.NextOffset == 0 {
		t.Errorf("%d bytes are shown, the next begins at %d", len(in.Text), in.NextOffset)
	}
	last := must[*gate.InspectResult](t)(a.Inspect(t.Context(), gate.InspectArgs{Queue: "orders", ID: ids[0], Offset: 5 << 20}))
	if !strings.Contains(last.Text, `"end":1}`) || last.NextOffset != 0 {
		t.Errorf("the end reads %.300q", last.Text)
	}
	patch := must[*gate.PatchResult](t)(a.ProposePatch(t.Context(), gate.PatchArgs{Queue: "orders", IDs: ids, ResponseFormat: "detailed", Patch: gate.RawJSON(`[{"op":"replace","path":"/currency","value":"EUR"}]`)}))
	if patch.Applies != 2 || len(patch.Text) > 4000 {
		t.Errorf("got %d bytes of text, %+v", len(patch.Text), patch.Why)
	}
	_, err := a.RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", IDs: ids, PatchID: patch.PatchID, Reason: "r"})
	refused(t, err, gate.CodeLimit, "32 MB")
	res := must[*gate.RequestResult](t)(a.RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", ID: ids[0], PatchID: patch.PatchID, Reason: "r"}))
	shown := must[*gate.ShowResult](t)(h.person("ana").Show(t.Context(), res.RequestID, false))
	if len(shown.Diff) > 4000 {
		t.Errorf("the diff has %d bytes", len(shown.Diff))
	}
	must[*gate.RequestResult](t)(h.person("ana").Approve(t.Context(), res.RequestID, res.Digest, ""))
	must[*gate.RequestResult](t)(h.person("ana").Run(t.Context(), res.RequestID, nil))
	if got := h.work()[ids[0]]; got != `{"currency":"EUR","pad":"`+pad+`","end":1}` {
		t.Errorf("the worker got %d bytes, %.60q", len(got), got)
	}
	h.verify()
}

// A request for a large group is one plan, with every letter in the log.
func TestLargeGroup(t *testing.T) {
	h := open(t, "  mail:\n    source: {backend: app, queue: mail}\n    redrive: approval\n    approval: {from: [oncall], max_messages: 3000}\n")
	a := h.agent()
	h.kill("mail", 3100, "TimeoutError: x", `{"id":#}`)
	groups := must[*gate.GroupResult](t)(a.Group(t.Context(), gate.GroupArgs{Queue: "mail"}))
	args := gate.RedriveArgs{Queue: "mail", Group: groups.Groups[0].Group, AsOf: groups.AsOf, MaxMessages: 3001, Reason: "r"}
	_, err := a.RequestRedrive(t.Context(), args)
	refused(t, err, gate.CodeLimit, "at most 3000")
	args.MaxMessages = 3000
	res := must[*gate.RequestResult](t)(a.RequestRedrive(t.Context(), args))
	if res.Messages != 3000 || res.LeftOut["beyond_max_messages"] != 100 || len(fmt.Sprint(res)) > 4000 {
		t.Errorf("got %+v", res)
	}
	named := 0
	for _, rec := range h.log() {
		if rec.Phase == "plan" {
			named += len(rec.Items)
		}
	}
	if named != 3000 {
		t.Errorf("the log names %d letters", named)
	}
	h.verify()
}
