package backends

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "rewrite the pinned fingerprints")

// group is a block of the golden file: texts that mean the same error.
type group struct {
	name, fp, label string
	samples         []string
}

// readGroups reads testdata/fingerprints.txt: its head says how it is written.
func readGroups(t testing.TB) []*group {
	t.Helper()
	data, err := os.ReadFile("testdata/fingerprints.txt")
	if err != nil {
		t.Fatal(err)
	}
	var groups []*group
	for n, line := range strings.Split(string(data), "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "== "):
			f := strings.SplitN(line+"||", "|", 4)
			groups = append(groups, &group{name: strings.TrimSpace(f[0][3:]), fp: strings.TrimSpace(f[1]), label: strings.TrimSpace(f[2])})
		case len(groups) == 0:
			t.Fatalf("line %d stands before the first group", n+1)
		default:
			g := groups[len(groups)-1]
			g.samples = append(g.samples, line)
		}
	}
	return groups
}

// symptomOf reads one sample: "@code@ message ⏎ … §§ stack".
func symptomOf(sample string) Symptom {
	var s Symptom
	if after, ok := strings.CutPrefix(sample, "@"); ok {
		s.Code, sample, _ = strings.Cut(after, "@ ")
	}
	unfold := strings.NewReplacer("⏎", "\n", "⇥", "\t", "␛", "\x1b", "␀", "\x00")
	sample = unfold.Replace(sample)
	s.Message, s.Stack, _ = strings.Cut(sample, "§§")
	return s
}

func TestGolden(t *testing.T) {
	groups := readGroups(t)
	if *update {
		pin(t, groups)
		groups = readGroups(t)
	}
	seen, samples := map[string]string{}, 0
	for _, g := range groups {
		if other := seen[g.fp]; other != "" {
			t.Errorf("%s and %s have the same fingerprint %s", other, g.name, g.fp)
		}
		seen[g.fp] = g.name
		for _, sample := range g.samples {
			samples++
			if fp, label := Fingerprint(symptomOf(sample)); fp != g.fp {
				t.Errorf("%s: fingerprint %s, pinned %s\n sample %s\n  label %s", g.name, fp, g.fp, sample, label)
			}
		}
		if _, label := Fingerprint(symptomOf(g.samples[0])); label != g.label {
			t.Errorf("%s: label %q, pinned %q", g.name, label, g.label)
		}
	}
	if samples < 120 {
		t.Errorf("only %d samples", samples)
	}
}

// pin writes the fingerprint of each group's first sample into the file.
func pin(t *testing.T, groups []*group) {
	data, err := os.ReadFile("testdata/fingerprints.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines, next := strings.Split(string(data), "\n"), 0
	for i, line := range lines {
		if strings.HasPrefix(line, "== ") {
			g := groups[next]
			fp, label := Fingerprint(symptomOf(g.samples[0]))
			lines[i] = fmt.Sprintf("== %s | %s | %s", g.name, fp, label)
			next++
		}
	}
	if err := os.WriteFile("testdata/fingerprints.txt", []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What is remembered changes no answer, and is bounded.
func TestFingerprintsRemember(t *testing.T) {
	f := new(Fingerprints)
	for range 2 {
		for _, g := range readGroups(t) {
			for _, sample := range g.samples {
				fp, label := f.Of(symptomOf(sample))
				if wantFP, want := Fingerprint(symptomOf(sample)); fp != wantFP || label != want {
					t.Errorf("%s: %s %q, want %s %q", sample, fp, label, wantFP, want)
				}
			}
		}
	}
	for n := range maxMet + 100 {
		f.Of(Symptom{Queue: "q" + strings.Repeat("x", n%7), Job: fmt.Sprint(n)})
	}
	if len(f.met) != maxMet {
		t.Errorf("%d groups are remembered, want %d", len(f.met), maxMet)
	}
}

func TestNormal(t *testing.T) {
	for in, want := range map[string]string{
		"":                                             "",
		"  a \t b\r\n\nc ":                             "a b c",
		"order 12 of 15":                               "order <n> of <n>",
		"ids [1, 2, 3]":                                "ids [<n>]",
		"ids [1,2,3,4,5]":                              "ids [<n>]",
		"took 1m30.5s":                                 "took <dur>",
		"took 250ms":                                   "took <dur>",
		"took 250µs":                                   "took <dur>",
		"at 2024-01-02T03:04:05.678Z":                  "at <time>",
		"at 2024-01-02 03:04:05,678":                   "at <time>",
		"at Tue, 02 Jan 2024 03:04:05":                 "at <time>",
		"May not be null":                              "May not be null",
		"mail to bob+x@mail.example.com.":              "mail to <email>",
		"mail to <bob@example.com>: no":                "mail to <<email>>: no",
		"dial tcp 10.1.2.3:6379: refused":              "dial tcp <ip>: refused",
		"dial tcp [::1]:6379: refused":                 "dial tcp <ip>: refused",
		"from fe80::1 to ::1":                          "from <ip> to <ip>",
		"10.1.2.3:5->10.1.2.4:6: reset":                "<ip>-><ip>: reset",
		"connect db-7.internal:5432":                   "connect db-<n>.internal:<n>",
		"key \"a \\\" b\" is 'c'":                      "key <str> is <str>",
		"can't read user's file":                       "can't read user's file",
		"don't use 'x' or 'y z'":                       "don't use <str> or <str>",
		"O'Brien and O'Neill":                          "O'Brien and O'Neill",
		"undefined method `foo' for nil":               "undefined method <str> for nil",
		"an \"unclosed quote":                          "an \"unclosed quote",
		"b'raw' and u'text'":                           "b<str> and u<str>",
		"object at 0x7f3c2a1b>":                        "object at <hex>>",
		"id 550e8400-e29b-41d4-a716-446655440000 lost": "id <id> lost",
		"order-550e8400-e29b-41d4-a716-446655440000":   "order-<id>",
		"commit 3f2a1b9c0d":                            "commit <id>",
		"cus_NffrFeUfNV2Hib gone":                      "cus_<id> gone",
		"pod api-7d9f8b6c5d-x2x4z":                     "pod api-<id>",
		"user42 and worker-3":                          "user<n> and worker-<n>",
		"S3 and x509 and utf8":                         "S3 and x509 and utf8",
		"Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0":  "Bearer <id>",
		"/home/bob/app/3/x.log":                        "/home/<id>/app/<n>/x.log",
		"/tmp/upload-9f/x.log":                         "/tmp/<id>/x.log",
		`C:\Users\bob\x.log`:                           `C:\Users\<id>\x.log`,
		"GET https://u:p@api.example.com:8443/v1/orders/42?key=s#f": "GET https://api.example.com/v<n>/orders/<n>",
		"GET http://10.0.0.1/":             "GET http://<ip>",
		"status code 404":                  "status code 404",
		"StatusCode: 503, RequestID: A1B2": "StatusCode: 503, RequestID: <id>",
		"SQLSTATE[23000]: x":               "SQLSTATE[23000]: x",
		"exit status 137":                  "exit status 137",
		"HTTP/1.1 502 Bad Gateway":         "HTTP/1.1 502 Bad Gateway",
		"404 Not Found":                    "404 Not Found",
		"123 items left":                   "<n> items left",
		"\x1b[31mred\x1b[0m 5":             "red <n>",
		"a\x00b":                           "a b",
		"why ... --- !!!":                  "why ... --- !!!",
		"café 5 日本":                        "café <n> 日本",
		"dup\nDETAIL:  Key (name)=(bob)":   "dup",
		"-5 +7 5e":                         "<n>e",
	} {
		if got := normal(in); got != want {
			t.Errorf("normal(%q)\n got %q\nwant %q", in, got, want)
		}
	}
}

func TestOrigin(t *testing.T) {
	base := Symptom{Queue: "mail", Job: "Send", Shape: "{id,to}"}
	first, label := Fingerprint(base)
	if want := "no reason; queue mail; job Send; shape {id,to}"; label != want {
		t.Errorf("label %q, want %q", label, want)
	}
	for name, s := range map[string]Symptom{
		"queue": {Queue: "sms", Job: "Send", Shape: "{id,to}"},
		"job":   {Queue: "mail", Job: "Retry", Shape: "{id,to}"},
		"shape": {Queue: "mail", Job: "Send", Shape: "{id}"},
	} {
		if fp, _ := Fingerprint(s); fp == first {
			t.Errorf("another %s has the same fingerprint", name)
		}
	}
	a, _ := Fingerprint(Symptom{Message: "boom", Queue: "mail"})
	if b, _ := Fingerprint(Symptom{Message: "boom", Queue: "sms", Job: "x", Shape: "y"}); a != b {
		t.Error("the origin counts although there is a reason")
	}
}

func TestBounds(t *testing.T) {
	long := strings.Repeat("wordy ", 2<<10)
	a, label := Fingerprint(Symptom{Message: long})
	if b, _ := Fingerprint(Symptom{Message: long + "tail"}); a != b {
		t.Error("text behind the first 8 KiB counts")
	}
	if n := utf8.RuneCountInString(label); n != maxLabel || !strings.HasSuffix(label, "…") {
		t.Errorf("label of %d characters: %q", n, label)
	}
	if b, _ := Fingerprint(Symptom{Message: "tail " + long}); a == b {
		t.Error("the front of a long text does not count")
	}
	if got := bound(strings.Repeat("x", 7)+"日本", 9); got != strings.Repeat("x", 7) {
		t.Errorf("cut through a character: %q", got)
	}
	if got := bound("a\xff\xfeb", 9); got != "a\ufffdb" {
		t.Errorf("invalid UTF-8: %q", got)
	}
}

func FuzzFingerprint(f *testing.F) {
	for _, g := range readGroups(f) {
		s := symptomOf(g.samples[0])
		f.Add(s.Code, s.Message, s.Stack)
	}
	f.Add("", "'\\", "File \"")
	f.Fuzz(func(t *testing.T, code, message, stack string) {
		s := Symptom{Code: code, Message: message, Stack: stack}
		fp, label := Fingerprint(s)
		f := new(Fingerprints)
		f.Of(Symptom{Message: message + code, Stack: stack})
		if again, _ := f.Of(s); again != fp || len(fp) != 12 || strings.Trim(fp, "0123456789abcdef") != "" {
			t.Errorf("fingerprints %q and %q", fp, again)
		}
		if utf8.RuneCountInString(label) > maxLabel || Sanitise(label) != label || strings.ContainsAny(label, "\n\t") {
			t.Errorf("label %q", label)
		}
		if digits := normal("number " + message); len(digits) > 8*len(message)+16 {
			t.Errorf("normal form of %d bytes from %d", len(digits), len(message))
		}
	})
}

func BenchmarkFingerprint(b *testing.B) {
	for name, s := range map[string]Symptom{
		"message": {Message: `dial tcp 10.1.2.3:6379: connect: connection refused after 1m30s (order 42, user "bob")`},
		"stack":   symptomOf("Error: boom⏎    at handler (/app/src/orders/index.js:12:5)⏎    at run (/app/src/run.js:3:1)"),
		"8KiB":    {Message: strings.Repeat(`a1-b2 "x `, 1<<10)},
		"dots":    {Message: strings.Repeat(".", 8<<10)},
		"quotes":  {Message: strings.Repeat(`"'`+"`", 3<<10)},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Fingerprint(s)
			}
		})
	}
	b.Run("samples", func(b *testing.B) { // one iteration is all of the pinned ones
		b.ReportAllocs()
		var all []Symptom
		for _, g := range readGroups(b) {
			for _, s := range g.samples {
				all = append(all, symptomOf(s))
			}
		}
		f := new(Fingerprints)
		for b.Loop() {
			for _, s := range all {
				f.Of(s)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(all)), "ns/text")
	})
}
