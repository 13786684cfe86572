package envelope

import (
	"strings"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// record is what the records of Lambda have in common.
type record struct {
	job       string
	condition string
	attempts  int
	dead      time.Time
}

// readRecord reads the head of a record of Lambda: version, timestamp and
// requestContext, everything in it present and of its type.
func readRecord(b body) (record, bool) {
	if !dated(b) {
		return record{}, false
	}
	c, ok := object(b["requestContext"], "requestId", "functionArn", "condition", "approximateInvokeCount")
	if !ok || text(c["requestId"]) == "" || text(c["condition"]) == "" {
		return record{}, false
	}
	job, named := function(text(c["functionArn"]))
	attempts, counted := count(string(c["approximateInvokeCount"]))
	return record{job, text(c["condition"]), attempts, moment(b["timestamp"])}, named && counted
}

func dated(b body) bool { return text(b["version"]) == "1.0" && !moment(b["timestamp"]).IsZero() }

// moment is a time as RFC 3339 writes it, zero for anything else.
func moment(raw []byte) time.Time {
	at, err := time.Parse(time.RFC3339Nano, text(raw))
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}

// function is the name in arn:aws:lambda:region:account:function:name[:version].
func function(s string) (string, bool) {
	parts, ok := arn(s)
	if !ok || parts[2] != "lambda" {
		return "", false
	}
	rest, ok := strings.CutPrefix(parts[5], "function:")
	name, _, _ := strings.Cut(rest, ":")
	return name, ok && name != ""
}

const noPayload = "Lambda's record does not hold the event of the failed invocation."

// readDestination reads the record of an asynchronous invocation that failed. The
// consumer expects the event in it. The record of one that succeeded is plain: its
// event must not run again.
func readDestination(_ Message, b body) (Letter, bool) {
	r, ok := readRecord(b)
	if !ok || r.condition == "Success" || b.batch() != nil {
		return Letter{}, false
	}
	l := r.letter(b)
	if payload := b["requestPayload"]; payload != nil && !isNull(payload) {
		l.Payload = payload
	} else {
		l.ListOnly = noPayload
	}
	return l, true
}

// readMapping reads the record of a batch from a stream, which an event source
// mapping or a pipe gave up. It says where the records are; they are not in it.
func readMapping(_ Message, b body) (Letter, bool) {
	if b["requestPayload"] != nil || !isObject(b.batch()) {
		return Letter{}, false
	}
	r, ok := readRecord(b)
	if !ok {
		r, ok = readPipe(b)
	}
	if !ok {
		return Letter{}, false
	}
	l := r.letter(b)
	l.ListOnly = "The record says where in a stream the failed batch is, and does not hold its records."
	return l, true
}

// readPipe reads the head of a pipe's record, which names no invocation.
func readPipe(b body) (record, bool) {
	c, ok := object(b["context"], "partnerResourceArn", "condition")
	if !ok || !dated(b) || text(c["condition"]) == "" {
		return record{}, false
	}
	job, ok := arnName(text(c["partnerResourceArn"]), "pipes", "pipe/")
	return record{job, text(c["condition"]), -1, moment(b["timestamp"])}, ok
}

// batch is the member that describes the failed batch of a stream, if there is one.
func (b body) batch() []byte {
	for _, name := range []string{"KinesisBatchInfo", "DDBStreamBatchInfo", "KafkaBatchInfo"} {
		if b[name] != nil {
			return b[name]
		}
	}
	return nil
}

// letter is what a record says of the failure: what the function threw, or else
// why the service gave up.
func (r record) letter(b body) Letter {
	l := Letter{Attempts: r.attempts, Job: word(r.job), Dead: r.dead}
	l.Reason = backends.Reason{Code: word(r.condition), Source: "envelope"}
	e, ok := object(b["responsePayload"], "errorType", "errorMessage", "stackTrace", "trace")
	if !ok {
		return l
	}
	if code := text(e["errorType"]); code != "" {
		l.Reason.Code = word(code)
	}
	l.Reason.Message = prose(text(e["errorMessage"]))
	l.Reason.Stack = prose(stack(e["stackTrace"]))
	if l.Reason.Stack.IsZero() {
		l.Reason.Stack = prose(stack(e["trace"])) // as Node's runtime names it
	}
	return l
}

// stack is a stack as lines, in the order of the runtime that wrote it: a string,
// or an array whose elements are lines or arrays of the parts of a line.
func stack(raw []byte) string {
	if s, ok := str(raw); ok {
		return s
	}
	elements, _ := array(raw, maxLines)
	var lines []string
	for _, e := range elements {
		parts := [][]byte{e}
		if isArray(e) {
			parts, _ = array(e, maxLines)
		}
		if s := line(parts); s != "" {
			lines = append(lines, s)
		}
	}
	return strings.Join(lines, "\n")
}

// maxLines bounds the lines of a stack, and the parts of a line.
const maxLines = 1000

// line joins the strings and numbers of a line.
func line(parts [][]byte) string {
	var words []string
	for _, p := range parts {
		if s, ok := str(p); ok {
			words = append(words, strings.TrimRight(s, "\r\n"))
		} else if p[0] == '-' || p[0] >= '0' && p[0] <= '9' {
			words = append(words, string(p))
		}
	}
	return strings.Join(words, " ")
}
