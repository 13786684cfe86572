package sqljobs_test

import (
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// A fold reads times in binary, a listing as text. They are the same.
func TestFoldedTimes(t *testing.T) {
	t.Parallel()
	s := newSchema(t)
	s.exec(t, `CREATE TABLE j (id int PRIMARY KEY, status text NOT NULL DEFAULT 'failed', payload json NOT NULL DEFAULT '{}', born timestamp, failed_at timestamptz NOT NULL);
		GRANT SELECT ON j TO READER, WRITER; GRANT UPDATE ON j TO WRITER`)
	s.exec(t, `INSERT INTO j (id, born, failed_at) VALUES (1, '2026-03-29 02:30', '2026-03-29 02:30:00.000001+02'), (2, '2026-10-25 02:30:00.5', 'infinity'), (3, 'infinity', '-infinity'),
		(4, '0044-03-15 BC', '0044-03-15 BC'), (5, '10000-01-01', '10000-01-01'), (6, NULL, '1999-12-31 23:59:59.999999+00'), (7, '0001-01-01', '9999-12-31 12:00+00'), (8, '1969-12-31 23:59:59', '1969-12-31')`)
	s.exec(t, `INSERT INTO j (id, born, failed_at) SELECT 100 + n, timestamp '2000-01-01' + n * interval '11 days 3 hours 7 seconds', timestamptz '1990-01-01' + n * interval '5 days 17 minutes 3 microseconds' FROM generate_series(1, 5000) n`)
	st := s.open(t, `
receipts: none
jobs:
  table: SCHEMA.j
  id: id
  payload: payload
  dead: {column: status, in: [failed]}
  enqueued_at: {column: born, tz: Europe/Berlin}
  dead_at: failed_at
  redrive: {update: {set: {status: queued}}}
`, map[string]string{"jobs": ""})
	defer st.Close()
	want := map[string]backends.Times{}
	for l, err := range st.Scan(t.Context(), backends.Query{Queue: "jobs"}) {
		if err != nil {
			t.Fatal(err)
		}
		want[l.ID] = l.Times
	}
	seen := 0
	for l, err := range st.Scan(t.Context(), backends.Query{Queue: "jobs", Fold: true}) {
		if err != nil {
			t.Fatal(err)
		}
		seen++
		if l.Times != want[l.ID] {
			t.Errorf("letter %s: folded %v, listed %v", l.ID, l.Times, want[l.ID])
		}
	}
	if seen != 5008 || len(want) != 5008 {
		t.Errorf("%d letters were folded, %d listed", seen, len(want))
	}
}
