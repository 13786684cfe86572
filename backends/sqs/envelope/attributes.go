package envelope

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// Message attributes by which each producer says that it gave up. Those of the
// second list are there only sometimes.
var (
	ofRule        = []string{"RULE_ARN", "TARGET_ARN", "ERROR_CODE", "ERROR_MESSAGE"}
	oftenRule     = []string{"EXHAUSTED_RETRY_CONDITION", "RETRY_ATTEMPTS"}
	ofSchedule    = []string{"SCHEDULE_ARN", "TARGET_ARN", "ERROR_CODE", "ERROR_MESSAGE", "EXECUTION_ID", "SCHEDULED_TIME", "IS_PAYLOAD_TRUNCATED"}
	oftenSchedule = oftenRule
	ofLambda      = []string{"RequestID", "ErrorCode", "ErrorMessage"}
)

// readRule reads what a rule of EventBridge leaves: the event, and attributes.
func readRule(m Message, _ body) (Letter, bool) {
	if !m.texts(ofRule...) || m.has("SCHEDULE_ARN") {
		return Letter{}, false
	}
	rule, ok := arnName(m.text("RULE_ARN"), "events", "rule/")
	if !ok || !isARN(m.text("TARGET_ARN")) {
		return Letter{}, false
	}
	return m.eventBridge(rule, m.present(ofRule, oftenRule)), true
}

// readSchedule reads what EventBridge Scheduler leaves: the request that the
// target should have got, and attributes.
func readSchedule(m Message, _ body) (Letter, bool) {
	if !m.texts(ofSchedule...) || m.has("RULE_ARN") {
		return Letter{}, false
	}
	schedule, ok := arnName(m.text("SCHEDULE_ARN"), "scheduler", "schedule/")
	if !ok || !isARN(m.text("TARGET_ARN")) {
		return Letter{}, false
	}
	l := m.eventBridge(schedule, m.present(ofSchedule, oftenSchedule))
	if !strings.EqualFold(m.text("IS_PAYLOAD_TRUNCATED"), "false") {
		l.ListOnly = "EventBridge Scheduler cut the payload off, or does not say that it is whole, so the target would get a part of it."
	}
	return l, true
}

// eventBridge is what both of them say in the same attributes.
func (m Message) eventBridge(job string, drop []string) Letter {
	l := Letter{
		Reason:   backends.Reason{Code: word(m.text("ERROR_CODE")), Message: prose(m.text("ERROR_MESSAGE")), Source: "attribute"},
		Attempts: -1, Job: word(job), Group: word(m.text("TARGET_ARN")), Drop: drop,
	}
	// They count what came after the first try.
	if retries, ok := count(m.text("RETRY_ATTEMPTS")); ok {
		l.Attempts = retries + 1
	}
	return l
}

// readLambdaDLQ reads what a function's own dead-letter queue gets: the event, and
// attributes. Nothing in them names the function.
func readLambdaDLQ(m Message, _ body) (Letter, bool) {
	if !m.texts(ofLambda...) || base(m.Attributes["ErrorCode"].Type) != "Number" {
		return Letter{}, false
	}
	if _, ok := count(m.text("ErrorCode")); !ok {
		return Letter{}, false
	}
	return Letter{
		Reason:   backends.Reason{Code: word(m.text("ErrorCode")), Message: prose(m.text("ErrorMessage")), Source: "attribute"},
		Attempts: -1, Drop: m.present(ofLambda, nil),
	}, true
}

// named lets the attributes win that the policy names. Where one of them has a
// part of the reason, the whole reason is theirs: its source is one.
func (o Options) named(m Message, l *Letter) {
	if job := m.text(o.Job); job != "" {
		l.Job = word(job)
	}
	message, code, stack := m.text(o.Message), m.text(o.Code), m.text(o.Stack)
	if message == "" && code == "" && stack == "" {
		return
	}
	l.Reason = backends.Reason{Message: prose(message), Code: word(code), Stack: prose(stack), Verdict: backends.Unknown, Source: "attribute"}
}

// text is the value of an attribute, empty if it has none or is not text.
func (m Message) text(name string) string {
	a, ok := m.Attributes[name]
	if t := base(a.Type); !ok || t != "String" && t != "Number" || !utf8.Valid(a.Value) {
		return ""
	}
	return string(a.Value)
}

// base is an attribute's type without its sender's label.
func base(typ string) string {
	t, _, _ := strings.Cut(typ, ".")
	return t
}

func (m Message) has(name string) bool {
	_, ok := m.Attributes[name]
	return ok
}

// texts reports whether all of these attributes are there and are text.
func (m Message) texts(names ...string) bool {
	for _, name := range names {
		if m.text(name) == "" {
			return false
		}
	}
	return true
}

// present is a list of its own of those names that the message has.
func (m Message) present(always, sometimes []string) []string {
	var names []string
	for _, list := range [][]string{always, sometimes} {
		for _, name := range list {
			if m.has(name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// count reads a whole number that a counter can reach.
func count(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil && n < 1<<31-1
}

func isARN(s string) bool {
	_, ok := arn(s)
	return ok
}

// arn splits arn:partition:service:region:account:resource.
func arn(s string) (parts []string, ok bool) {
	parts = strings.SplitN(s, ":", 6)
	ok = len(s) <= maxWord && len(parts) == 6 && parts[0] == "arn" && parts[1] != "" && parts[2] != "" && parts[5] != ""
	return parts, ok
}

// arnName is the last part of a path in an ARN of a service: of
// arn:aws:events:eu-west-1:123456789012:rule/bus/name it is name.
func arnName(s, service, prefix string) (string, bool) {
	parts, ok := arn(s)
	if !ok || parts[2] != service {
		return "", false
	}
	path, ok := strings.CutPrefix(parts[5], prefix)
	name := path[strings.LastIndexByte(path, '/')+1:]
	return name, ok && name != ""
}
