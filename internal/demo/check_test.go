package demo

import (
	"strings"
	"testing"
)

func TestCheckRedriven(t *testing.T) {
	const eu, eur = `{ "currency": "EU", "order": 9007199254740993 }`, `{ "currency": "EUR", "order": 9007199254740993 }`
	sound := func() (before, after []row, made map[int64][]attempt) {
		return []row{{id: 1, kind: "charge", payload: eur, status: "dead"}, {id: 2, kind: "charge", payload: eu, status: "dead"}, {id: 3, kind: "transcode", status: "dead"}},
			[]row{{id: 1, kind: "charge", payload: eur, status: "completed"}, {id: 2, kind: "charge", payload: eur, status: "completed"}, {id: 3, kind: "transcode", status: "dead"}},
			map[int64][]attempt{1: {{eur, "completed"}}, 2: {{eur, "completed"}}}
	}
	for _, c := range []struct {
		name  string
		spoil func(after []row, made map[int64][]attempt)
		want  string
	}{
		{"sound", func([]row, map[int64][]attempt) {}, ""},
		{"ran twice", func(_ []row, made map[int64][]attempt) { made[1] = append(made[1], made[1][0]) }, "ran 2 times"},
		{"did not run", func(_ []row, made map[int64][]attempt) { delete(made, 2) }, "ran 0 times"},
		{"failed", func(_ []row, made map[int64][]attempt) { made[1][0].result = "ValueError" }, "not"},
		{"still dead", func(after []row, _ map[int64][]attempt) { after[0].status = "dead" }, "is dead"},
		{"rounded", func(after []row, _ map[int64][]attempt) { after[1].payload = strings.Replace(eur, "993", "992", 1) }, "992"},
		{"ran rounded", func(_ []row, made map[int64][]attempt) { made[2][0].payload = strings.Replace(eur, "993", "992", 1) }, "992"},
		{"never ran", func(_ []row, made map[int64][]attempt) { made[3] = []attempt{{}} }, "as dead as before"},
		{"never touched", func(after []row, _ map[int64][]attempt) { after[2].status = "queued" }, "as dead as before"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after, made := sound()
			c.spoil(after, made)
			wantError(t, checkRedriven(before, after, made), c.want)
		})
	}
	before, after, made := sound()
	wantError(t, checkRedriven(before, after[:2], made), "3 jobs became 2")
}

func TestCheckDead(t *testing.T) {
	three := []attempt{{}, {}, {}}
	for _, c := range []struct {
		name string
		is   row
		made []attempt
		want string
	}{
		{"dead", row{status: "dead", attempts: 3}, three, ""},
		{"alive", row{status: "queued", attempts: 3}, three, "queued"},
		{"too early", row{status: "dead", attempts: 2}, three, "after 2"},
		{"not noted", row{status: "dead", attempts: 3}, three[:2], "2 noted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantError(t, checkDead([]row{c.is}, map[int64][]attempt{0: c.made}), c.want)
		})
	}
}

func TestFenced(t *testing.T) {
	const body = "card [redacted], " + hostile + "\ncard [redacted]"
	for _, c := range []struct{ name, text, want string }{
		{"fenced", "notice\n<<<data 1f\n" + body + "\n>>>data 1f", ""},
		{"no fence", "notice\n" + body + "\nend", "not fenced"},
		{"another fence", "notice\n<<<data 1f\n" + body + "\n>>>data 2f", "not fenced"},
		{"nothing", "", "not fenced"},
		{"note missing", "notice\n<<<data 1f\n[redacted] [redacted]\n>>>data 1f", "note is missing"},
		{"card shown", "notice\n<<<data 1f\n" + body + cardPrefix + "\n>>>data 1f", "came through"},
		{"card not marked", "notice\n<<<data 1f\n" + hostile + "[redacted]\n>>>data 1f", "should be hidden"},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, fenced(strings.Split(c.text, "\n")), c.want) })
	}
}

// wantError wants an error with a part, or none.
func wantError(t *testing.T, err error, part string) {
	t.Helper()
	switch {
	case part == "" && err != nil:
		t.Errorf("unexpected error: %v", err)
	case part != "" && (err == nil || !strings.Contains(err.Error(), part)):
		t.Errorf("have error %v, want one with %q", err, part)
	}
}
