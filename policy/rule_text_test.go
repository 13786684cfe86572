package policy_test

import "testing"

func TestRuleText(t *testing.T) {
	for rule, want := range map[string]string{
		"{name: all, do: never}": "all: never",
		"{name: r, when: {error: [permanent, unknown], code: E1, job: [a, b*], patched: false}, do: never}":                                      "r: never if error is permanent or unknown and code is E1 and job is a or b* and patched is false",
		"{name: r, when: {replays: {max: 0}, attempts: {min: 1, max: 3}, age: {min: 2d}, quiet: {min: 10m}}, do: direct, limits: {per_plan: 3}}": "r: direct if replays are at most 0 and attempts are 1 to 3 and age is at least 2d and quiet for 10m, at most 3 a request",
	} {
		q := queueOf("never", []string{rule})
		if q == nil {
			t.Errorf("%s is refused", rule)
		} else if got := q.Rules[0].String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
