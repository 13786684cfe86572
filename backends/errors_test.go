package backends

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

const hostileCause = "password=hunter2 \x1b[31m"

func TestErrorHidesItsCause(t *testing.T) {
	cause := errors.New(hostileCause)
	err := Errorf(Unreachable, cause, "the database %s does not answer", "shop").WithHint("start it with %q", "make up")
	for name, out := range map[string]string{
		"Error":   err.Error(),
		"%v":      fmt.Sprintf("%v", err),
		"%+v":     fmt.Sprintf("%+v", err),
		"%s":      fmt.Sprintf("%s", err),
		"%q":      fmt.Sprintf("%q", err),
		"wrapped": fmt.Errorf("listing: %w", err).Error(),
		"joined":  errors.Join(err, io.EOF).Error(),
		"hint":    err.Hint,
	} {
		if strings.Contains(out, "hunter2") || strings.Contains(out, "\x1b") {
			t.Errorf("%s tells the cause: %q", name, out)
		}
	}
	if err.Error() != "the database shop does not answer" || err.Hint != `start it with "make up"` {
		t.Errorf("sentence %q, hint %q", err.Error(), err.Hint)
	}
	if !errors.Is(err, cause) {
		t.Error("the cause cannot be found for the audit log")
	}
}

func TestCodeOf(t *testing.T) {
	gone := Errorf(Gone, nil, "no such letter")
	for name, c := range map[string]struct {
		err  error
		want Code
	}{
		"plain":           {gone, Gone},
		"wrapped":         {fmt.Errorf("a: %w", fmt.Errorf("b: %w", gone)), Gone},
		"joined":          {errors.Join(io.EOF, gone), Gone},
		"outermost first": {Errorf(Busy, gone, "busy"), Busy},
		"behind a config": {fmt.Errorf("a: %w, %w", &ConfigError{Key: "k"}, gone), Gone},
		"foreign":         {io.EOF, Internal},
		"text only":       {fmt.Errorf("a: %v", gone), Internal},
		"none":            {nil, Internal},
	} {
		if got := CodeOf(c.err); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestSentences(t *testing.T) {
	for _, c := range []Code{Gone, Changed, Busy, Conflict, Refused, NoAnswer} {
		if s := c.Sentence(); s == string(c) || strings.HasSuffix(s, ".") || s != strings.ToLower(s[:1])+s[1:] {
			t.Errorf("%s: %q", c, s)
		}
	}
	if got := TooSlow.Sentence(); got != "too_slow" {
		t.Errorf("a code without a sentence says %q", got)
	}
}

func TestConfigError(t *testing.T) {
	err := &ConfigError{Queue: "mail", Key: "redrive.set", Why: "unknown column", Hint: "h"}
	if err.Error() != "redrive.set: unknown column" {
		t.Errorf("%q", err.Error())
	}
}
