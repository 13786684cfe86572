package sqljobs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// one reads the only letter of a store, with its body.
func one(t *testing.T, s backends.Store) backends.DeadLetter {
	t.Helper()
	var out []backends.DeadLetter
	for l, err := range s.Scan(t.Context(), backends.Query{Queue: "jobs", Bodies: true}) {
		if err != nil {
			t.Fatalf("scanning: %v", err)
		}
		out = append(out, *l)
	}
	if len(out) != 1 {
		t.Fatalf("there are %d letters, want 1", len(out))
	}
	return out[0]
}

// TestColumns reads one row of many kinds of columns.
func TestColumns(t *testing.T) {
	s := newSchema(t)
	s.exec(t, `CREATE DOMAIN doc AS text`)
	at := time.Date(2026, 3, 29, 1, 30, 0, 123456000, time.UTC)
	for _, c := range []struct {
		name     string
		columns  string // beside id, status and failed_at
		values   string
		mapping  string
		message  string
		code     string
		stack    string
		body     string
		kind     string
		whyNot   string // part of it; empty: it can be patched
		enqueued time.Time
	}{
		{name: "json text in a domain", columns: "p doc", values: `'{"a": 1}'`, mapping: "payload: p",
			body: `{"a": 1}`, kind: "application/json"},
		{name: "json keeps its spelling", columns: "p json", values: `'{"a":1e2, "a":2}'`, mapping: "payload: p",
			body: `{"a":1e2, "a":2}`, kind: "application/json"},
		{name: "bytes that are no text", columns: "p bytea", values: `'\x00ff'::bytea`, mapping: "payload: p",
			body: "\x00\xff", kind: "application/octet-stream", whyNot: "not JSON"},
		{name: "bytes that are declared", columns: "p bytea", values: `'{}'::bytea`, mapping: "payload: {column: p, format: bytes}",
			body: "{}", kind: "application/octet-stream", whyNot: "bytes"},
		{name: "php", columns: "p text", values: `'O:8:"stdClass":0:{}'`, mapping: "payload: p",
			body: `O:8:"stdClass":0:{}`, kind: "text/plain", whyNot: "PHP"},
		{name: "yaml", columns: "p text", values: `'--- !ruby/object:Job {}'`, mapping: "payload: p",
			body: `--- !ruby/object:Job {}`, kind: "text/plain", whyNot: "YAML"},
		{name: "pickle", columns: "p bytea", values: `'\x80049500'::bytea`, mapping: "payload: p",
			body: "\x80\x04\x95\x00", kind: "application/octet-stream", whyNot: "pickle"},
		{name: "java", columns: "p bytea", values: `'\xaced0005'::bytea`, mapping: "payload: p",
			body: "\xac\xed\x00\x05", kind: "application/octet-stream", whyNot: "Java"},
		{name: "no payload", columns: "p text", values: `NULL`, mapping: "payload: p", whyNot: "no payload"},
		{name: "error in json", columns: "p text, e json", values: `'1', '{"message": "boom", "type": "E1", "trace": ["a", "b"]}'`,
			mapping: "payload: p\n  error: {column: e, path: [message], code: [type], stack: [trace]}",
			body:    "1", kind: "application/json", message: "boom", code: "E1", stack: "a\nb"},
		{name: "errors in a json array", columns: "p text, e jsonb", values: `'1', '[{"m": "old"}, {"m": "new"}]'`,
			mapping: "payload: p\n  error: {column: e, format: jsonb_array, path: [m]}", body: "1", kind: "application/json", message: "new"},
		{name: "first of texts", columns: "p text, e text[]", values: `'1', ARRAY['one, "1"', 'two']`,
			mapping: "payload: p\n  error: {column: e, pick: first}", body: "1", kind: "application/json", message: `one, "1"`},
		{name: "error that is not what the policy says", columns: "p text, e text", values: `'1', 'plain'`,
			mapping: "payload: p\n  error: {column: e, format: json, path: [m]}", body: "1", kind: "application/json", message: "plain"},
		{name: "zoneless time in Berlin", columns: "p text, c timestamp", values: `'1', '2026-03-29 03:30:00.123456'`,
			mapping: "payload: p\n  enqueued_at: {column: c, tz: Europe/Berlin}", body: "1", kind: "application/json", enqueued: at},
		{name: "time with a zone", columns: "p text, c timestamptz", values: `'1', '2026-03-29 03:30:00.123456+02'`,
			mapping: "payload: p\n  enqueued_at: c", body: "1", kind: "application/json", enqueued: at},
		{name: "milliseconds", columns: "p text, c bigint", values: `'1', 1774747800123`,
			mapping: "payload: p\n  enqueued_at: {column: c, unit: ms}", body: "1", kind: "application/json", enqueued: at.Truncate(time.Millisecond)},
		{name: "no time", columns: "p text, c timestamptz", values: `'1', 'infinity'`,
			mapping: "payload: p\n  enqueued_at: c", body: "1", kind: "application/json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.exec(t, "DROP TABLE IF EXISTS j; CREATE TABLE j (id uuid PRIMARY KEY, status text, failed_at timestamptz, "+c.columns+`);
				GRANT SELECT, UPDATE ON j TO READER, WRITER`)
			s.exec(t, "INSERT INTO j VALUES ('00000000-0000-0000-0000-00000000abcd', 'failed', now(), "+c.values+")")
			st := s.open(t, "jobs:\n  table: SCHEMA.j\n  id: id\n  dead: {column: status, in: [failed]}\n  dead_at: failed_at\n  redrive: {update: {set: {status: queued}}}\n  "+c.mapping+"\n",
				map[string]string{"jobs": ""})
			defer st.Close()
			l := one(t, st)
			got := []string{l.Reason.Message.Raw(), l.Reason.Code.Raw(), l.Reason.Stack.Raw(), string(l.Payload.Bytes), l.Payload.ContentType}
			want := []string{c.message, c.code, c.stack, c.body, c.kind}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("field %d is %q, want %q", i, got[i], want[i])
				}
			}
			if !l.Times.Enqueued.Equal(c.enqueued) {
				t.Errorf("enqueued at %s, want %s", l.Times.Enqueued, c.enqueued)
			}
			if l.Payload.Patchable != (c.whyNot == "") || !strings.Contains(l.Payload.WhyNot, c.whyNot) {
				t.Errorf("patchable is %v because %q, want %q", l.Payload.Patchable, l.Payload.WhyNot, c.whyNot)
			}
			if l.ID != "00000000-0000-0000-0000-00000000abcd" || l.Payload.Provenance != backends.AsStored {
				t.Errorf("the id is %q, the provenance %q", l.ID, l.Payload.Provenance)
			}
		})
	}
}
