package sqljobs

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func FuzzID(f *testing.F) {
	for _, s := range []string{"7", "07", "", `["a","b"]`, `["a", "b"]`, `["\u00e9","b"]`, `[]`, `\x00ff`, `\xzz`, "\x00", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		for _, blobs := range [][]bool{{false}, {false, false}, {true}, {true, false}} {
			vs, ok := idValues(id, blobs)
			if !ok {
				continue
			}
			if len(vs) != len(blobs) {
				t.Fatalf("%q has %d parts, want %d", id, len(vs), len(blobs))
			}
			if back := idText(vs); back != id && !strings.Contains(id, `\x`) {
				t.Errorf("%q comes back as %q", id, back)
			}
		}
	})
}

// FuzzReceipt: a receipt is what was written, or an error. New ids are told to
// people and logged, so none may be another than the one in the table.
func FuzzReceipt(f *testing.F) {
	for _, s := range []string{"{}", `{"7":"8"}`, `{"[\"a\",\"b\"]":"\u00e9"}`, `{"7": "8", "9" :"10"}`, "null", "", "[]", `{"7":8}`, `{"7":null}`, `{"7":"8"}x`, "{\"7\":\"\xff\"}", `{"7":"8","7":"9"}`, "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		newIDs, err := parseReceipt([]byte(text))
		if (newIDs == nil) != (err != nil) {
			t.Fatalf("%q gives %v and %v", text, newIDs, err)
		}
		if err != nil {
			return
		}
		if again, err := parseReceipt([]byte(jsonObject(newIDs))); err != nil || !maps.Equal(again, newIDs) {
			t.Errorf("%q gives %v, and that %v, %v", text, newIDs, again, err)
		}
		if !utf8.ValidString(text) || !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
			t.Errorf("%q is taken for %v", text, newIDs)
		}
	})
}

func FuzzPosition(f *testing.F) {
	for _, s := range []string{"", "[]", `["t2026-01-01","i7"]`, `["b\\x00ff"]`, `["b\\xzz"]`, `[""]`, `["x1"]`, `["hff"]`, `["h\\xff41","i7"]`, `["hzz"]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for n := range 3 {
			key, ok := parsePosition(s, n)
			if !ok {
				continue
			}
			again, ok := parsePosition(position(key), n)
			if !ok || position(again) != position(key) {
				t.Errorf("%q is read as %q", s, position(key))
			}
		}
	})
}

func FuzzDSN(f *testing.F) {
	for _, s := range []string{"postgres://u:p@h:5432/d?sslmode=disable", "host=h user=u dbname=d", `host=h password='a\'b' user = u`, "host='", "=", "a", `x=\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		settings, err := dsnSettings(dsn)
		if err != nil {
			return
		}
		for key := range settings {
			if strings.ContainsAny(key, " \t\n=") && !strings.HasPrefix(dsn, "postgres") {
				t.Errorf("%q has the key %q", dsn, key)
			}
		}
		if strings.HasPrefix(dsn, "postgres") {
			return
		}
		back, err := dsnKeywords(keywords(settings))
		if err != nil || len(back) != len(settings) {
			t.Fatalf("%q comes back as %v (%v), want %v", dsn, back, err, settings)
		}
		for key, value := range settings {
			if back[key] != value {
				t.Errorf("%q: %s comes back as %q, want %q", dsn, key, back[key], value)
			}
		}
	})
}

func FuzzTime(f *testing.F) {
	for _, s := range []string{"2026-01-02 03:04:05", "2026-01-02T03:04:05.678+02:00", "2026-01-02 03:04:05.123456+00", "infinity", "1e300", "-1", "1774747800123", "99999999999999999999", "2026-01-02 03:04:05 +0530 IST"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range []TimeColumn{{}, {TZ: "Europe/Berlin"}, {Unit: "s"}, {Unit: "ms"}, {Unit: "us"}} {
			if at := c.at(textValue(s)); !at.IsZero() && at.Location() != time.UTC {
				t.Errorf("%q is %s, want it in UTC", s, at)
			}
		}
	})
}

func FuzzReason(f *testing.F) {
	for _, s := range []string{`{"m":"x","s":["a","b"]}`, `[{"m":1}]`, "plain", "", `{"m":{"a":[1]}}`, "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := ErrorColumn{Format: formatJSONs, Path: []string{"m", "0"}, Stack: []string{"s"}}
		r := c.reason(textValue(s))
		if (s == "") != (r.Source == "none") || s != "" && r.Message.IsZero() {
			t.Errorf("%q gives the message %q from %s", s, r.Message, r.Source)
		}
		if s != "" && !json.Valid([]byte(s)) && r.Message.Raw() != s {
			t.Errorf("text that is no JSON is shown as %q", r.Message)
		}
	})
}

func FuzzSerialised(f *testing.F) {
	for _, s := range []string{"a:0:{}", "--- 1", "\x04\x08", "\x80\x04", "{}", ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if kind := textOrBytes(b); kind == typeText && !utf8.Valid(b) {
			t.Errorf("%q counts as text", b)
		}
		serialised(b)
	})
}

func TestTimes(t *testing.T) {
	at := time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		col  TimeColumn
		v    value
		want time.Time
	}{
		{TimeColumn{}, textValue("2026-03-29 01:30:00"), at},
		{TimeColumn{}, textValue("2026-03-29T01:30:00Z"), at},
		{TimeColumn{}, textValue("2026-03-29 03:30:00+02:00"), at},
		{TimeColumn{}, textValue("2026-03-29 01:30:00.25+00"), at.Add(time.Second / 4)},
		{TimeColumn{TZ: "Europe/Berlin"}, textValue("2026-03-29 03:30:00"), at},
		{TimeColumn{Unit: "s"}, value{number, []byte("1774747800")}, at},
		{TimeColumn{Unit: "us"}, value{number, []byte("1774747800000001")}, at.Add(time.Microsecond)},
		{TimeColumn{Unit: "s"}, value{real, []byte("1774747800.5")}, at.Add(time.Second / 2)},
		{TimeColumn{}, value{number, []byte("1774747800")}, time.Time{}},
		{TimeColumn{}, textValue("infinity"), time.Time{}},
		{TimeColumn{}, value{}, time.Time{}},
	} {
		if got := c.col.at(c.v); !got.Equal(c.want) {
			t.Errorf("%s by %+v is %s, want %s", c.v, c.col, got, c.want)
		}
	}
}
