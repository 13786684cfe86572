package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A line has room for a few long strings or for many short ones; these limits
// come first, and a record that is still too long is cut further by shrink.
const (
	maxString = 4096 // runes of a string before it is cut
	maxArgs   = 64
	maxList   = 256
)

// encoder writes one record. limit is how many runes a string may have; a
// smaller one makes a smaller line.
type encoder struct {
	buf   []byte
	limit int
}

// appendRecord appends a whole line, sealed with its hash and a newline, and
// returns that hash.
func appendRecord(buf []byte, r *Record, limit int) ([]byte, string) {
	start := len(buf)
	e := encoder{buf: buf, limit: limit}
	e.head(r)
	e.body(r)
	sum := sha256.Sum256(e.buf[start:])
	hash := hex.EncodeToString(sum[:])
	return append(append(append(e.buf, `,"hash":"`...), hash...), "\"}\n"...), hash
}

// head writes what the verifying script matches as one prefix: keep it in step
// with testdata/verify.sh.
func (e *encoder) head(r *Record) {
	e.buf = append(e.buf, `{"v":`...)
	e.buf = strconv.AppendInt(e.buf, Version, 10)
	e.buf = append(e.buf, `,"seq":`...)
	e.buf = strconv.AppendUint(e.buf, r.Seq, 10)
	e.whole("prev", r.Prev)
	e.whole("ts", r.TS.UTC().Format(tsLayout))
	e.whole("log", r.Log)
	e.must("op", r.Op)
	e.whole("phase", r.Phase)
}

// body follows the order of keys in scan.go, which accepts no other.
func (e *encoder) body(r *Record) {
	e.field("actor", r.Actor)
	e.field("client", r.Client)
	e.field("session", r.Session)
	e.field("mode", r.Mode)
	e.field("proof", r.Proof)
	e.field("tool", r.Tool)
	e.args(r.Args)
	e.field("queue", r.Queue)
	e.items(r.Items)
	e.field("policy", r.Policy)
	e.field("rule", r.Rule)
	e.field("effect", r.Effect)
	e.field("why", r.Why)
	e.field("plan", r.Plan)
	e.field("run", r.Run)
	e.field("outcome", r.Outcome)
	e.field("err", r.Err)
	e.number("dur_ms", r.DurMS)
	e.field("host", r.Host)
	e.number("pid", int64(r.PID))
}

func (e *encoder) field(key, value string) {
	if value != "" {
		e.must(key, value)
	}
}

func (e *encoder) must(key, value string) {
	e.key(key)
	e.str(value)
}

// whole is for the values that the chain rests on: they are short, never cut.
func (e *encoder) whole(key, value string) {
	e.key(key)
	e.buf = appendString(e.buf, value)
}

func (e *encoder) number(key string, n int64) {
	if n != 0 {
		e.key(key)
		e.buf = strconv.AppendInt(e.buf, n, 10)
	}
}

func (e *encoder) key(key string) {
	e.buf = append(append(append(e.buf, `,"`...), key...), `":`...)
}

// args writes an object. A key that comes twice gets a number: the caller's
// client may choose keys, and readers of JSON show only one of two equal ones.
func (e *encoder) args(args []Arg) {
	if len(args) == 0 {
		return
	}
	e.key("args")
	seen := make(map[string]bool, len(args))
	e.buf = append(e.buf, '{')
	for i, arg := range args {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		if i == maxArgs {
			e.arg("…", fmt.Sprintf("(+%d)", len(args)-i))
			break
		}
		key := cut(arg.Key, e.limit)
		for n := 2; seen[key]; n++ {
			key = cut(arg.Key, e.limit) + "#" + strconv.Itoa(n)
		}
		seen[key] = true
		e.arg(key, arg.Value)
	}
	e.buf = append(e.buf, '}')
}

// arg writes numbers as they are: a reader that holds them in floating point
// loses digits, so callers pass ids as strings.
func (e *encoder) arg(key string, value any) {
	e.buf = appendString(e.buf, key)
	e.buf = append(e.buf, ':')
	switch v := value.(type) {
	case string:
		e.str(v)
	case bool:
		e.buf = strconv.AppendBool(e.buf, v)
	case int:
		e.buf = strconv.AppendInt(e.buf, int64(v), 10)
	case int64:
		e.buf = strconv.AppendInt(e.buf, v, 10)
	case uint64:
		e.buf = strconv.AppendUint(e.buf, v, 10)
	case []string:
		e.list(v)
	default:
		e.str(fmt.Sprint(v))
	}
}

func (e *encoder) list(values []string) {
	e.buf = append(e.buf, '[')
	for i, v := range values {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		if i == min(maxList, e.limit) {
			e.str(fmt.Sprintf("…(+%d)", len(values)-i))
			break
		}
		e.str(v)
	}
	e.buf = append(e.buf, ']')
}

// items writes n always and first, also when it is 0: the verifier reads it
// without taking the rest apart.
func (e *encoder) items(items []Item) {
	if len(items) == 0 {
		return
	}
	e.key("items")
	for i, it := range items {
		e.buf = append(e.buf, "[,"[min(i, 1)])
		e.buf = append(e.buf, `{"n":`...)
		e.buf = strconv.AppendInt(e.buf, int64(it.N), 10)
		e.field("id", it.ID)
		e.field("commit", it.Commit)
		e.field("state", it.State)
		e.field("code", it.Code)
		e.field("new_id", it.NewID)
		e.buf = append(e.buf, '}')
	}
	e.buf = append(e.buf, ']')
}

func (e *encoder) str(s string) { e.buf = appendString(e.buf, cut(s, e.limit)) }

// cut shortens a string to limit runes and says how many bytes it left out.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := 0
	for range limit {
		if end == len(s) {
			return s
		}
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	if end == len(s) {
		return s
	}
	return fmt.Sprintf("%s…(+%d)", s[:end], len(s)-end)
}

// appendString writes a JSON string (RFC 8259 §7) in printable ASCII: all else
// is a \u escape, and what is not UTF-8 is \ufffd.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r >= 0x20 && r < 0x7f:
			b = append(b, byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = appendEscape(appendEscape(b, high), low)
		default:
			b = appendEscape(b, r)
		}
	}
	return append(b, '"')
}

func appendEscape(b []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	return append(b, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
