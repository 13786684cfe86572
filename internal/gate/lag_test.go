package gate_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// late is a real store that is read as a replica would be that is behind.
type late struct {
	backends.Store
	lag *time.Duration
}

func (l late) Lag(context.Context, string) (time.Duration, error) { return *l.lag, nil }

// TestLag: where a copy of the letters is read that is behind, a listing is cut
// off where the copy surely is complete, nobody is told that failures stopped, and
// a rule that asks for quiet loosens nothing.
func TestLag(t *testing.T) {
	h := open(t, mixed)
	lag := new(time.Duration)
	real := sqljobs.SQLite()
	driver := real
	driver.Open = func(c backends.Config) (backends.Store, error) {
		st, err := real.Open(c)
		return late{st, lag}, err
	}
	h.openWith(driver)
	old := h.kill("orders", 2, "TimeoutError: host a", `{"id":#}`)
	h.age(time.Hour, old...)
	newest := h.clock.now().Add(-time.Hour)
	for _, c := range []struct {
		lag    time.Duration
		listed int
		direct bool
		says   string // of failures after the fix
	}{
		{0, 2, true, "no letter of this group died since"},
		{5 * time.Second, 2, true, "no letter of this group died since"},
		{time.Minute, 2, false, "no letter of this group died since, as far as the copy shows that is read; it is 1m0s behind"},
		{2 * time.Hour, 0, false, ""},
		{-1, 2, false, "no letter of this group died since, as far as the copy shows that is read; how far it is behind is not known"},
	} {
		*lag = c.lag
		groups := must[*gate.GroupResult](t)(h.agent().Group(t.Context(), gate.GroupArgs{Queue: "orders"}))
		listed := 0
		for _, g := range groups.Groups {
			listed += g.Count
		}
		at, err := time.Parse(time.RFC3339, groups.AsOf)
		if err != nil {
			t.Fatal(err)
		}
		behind := time.Since(at)
		switch {
		case listed != c.listed:
			t.Errorf("%s behind, %d letters are listed, want %d", c.lag, listed, c.listed)
		case c.lag < 0 && !at.Equal(newest):
			t.Errorf("with an unknown lag the listing is as of %s, want the newest death, %s", at, newest)
		case c.lag >= 0 && (behind < c.lag || behind > c.lag+time.Minute):
			t.Errorf("%s behind, the listing is as of %s ago", c.lag, behind)
		}
		args := gate.RedriveArgs{Queue: "orders", IDs: old, Reason: "r", DryRun: true, Fix: &gate.Fix{Ref: "deploy 7", At: newest.Add(time.Minute).Format(time.RFC3339)}}
		dry := must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), args))
		if (dry.WouldBe == "direct") != c.direct {
			t.Errorf("%s behind, a rule that asks for quiet makes it %q", c.lag, dry.WouldBe)
		}
		if c.direct || listed == 0 {
			continue
		}
		args.IDs, args.Group, args.AsOf, args.MaxMessages, args.DryRun = nil, groups.Groups[0].Group, groups.AsOf, 5, false
		res := must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), args))
		shown := must[*gate.ShowResult](t)(h.person("ana").Show(t.Context(), res.RequestID, false))
		if !strings.HasSuffix(shown.Fix, c.says) {
			t.Errorf("%s behind, the approver reads %q", c.lag, shown.Fix)
		}
		must[*gate.StatusResult](t)(h.agent().CancelRedrive(t.Context(), gate.CancelArgs{RequestID: res.RequestID, Reason: "r"}))
	}
}
