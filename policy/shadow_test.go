package policy_test

import "testing"

func TestShadows(t *testing.T) {
	tests := []struct {
		first, second string
		shadowed      bool
	}{
		{"when: {job: mail}, do: approval", "when: {job: mail*}, do: approval", false},
		{"when: {job: mail*}, do: approval", "when: {job: mail}, do: approval", true},
		{"when: {job: [a, b]}, do: approval", "when: {job: [b, c]}, do: approval", false},
		{"when: {job: a}, do: approval", "when: {patched: true}, do: approval", false},
		{"when: {replays: {min: 0}}, do: approval", "when: {replays: {max: 3}}, do: approval", true},
		{"when: {replays: {min: 1}}, do: approval", "when: {replays: {max: 3}}, do: approval", false},
		{"when: {replays: {max: 2}}, do: approval", "when: {replays: {max: 3}}, do: approval", false},
		{"when: {replays: {max: 2}}, do: approval", "when: {replays: {min: 1}}, do: approval", false},
		{"when: {age: {max: 1h}}, do: approval", "when: {age: {min: 1m}}, do: approval", false},
		{"when: {quiet: {min: 1h}}, do: approval", "when: {quiet: {min: 1m}}, do: approval", false},
		{"when: {patched: true}, do: approval", "when: {patched: false}, do: approval", false},
		{"when: {error: permanent}, do: approval", "when: {error: permanent}, do: never", true},
		{"when: {error: permanent}, do: approval", "when: {error: [permanent, transient]}, do: never", true},
		{"when: {error: permanent, patched: false}, do: never", "when: {error: permanent}, do: approval", false},
		{"do: approval", "do: never", true},
	}
	for _, test := range tests {
		q := queueOf("never", []string{"{name: a, " + test.first + "}", "{name: b, " + test.second + "}"})
		if got := q == nil; got != test.shadowed {
			t.Errorf("%s, then %s: refused %v", test.first, test.second, got)
		}
	}
}
