package cli

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"strings"
	"time"
)

// Say runs one command as a person without a terminal types it, and gives all
// that it says.
func Say(ctx context.Context, p Program, words ...string) (code int, said string) {
	var b bytes.Buffer
	u := &ui{in: bufio.NewReader(strings.NewReader("")), out: &b, err: &b, now: time.Now}
	a := &app{Program: p, ui: u, env: os.LookupEnv}
	code = a.report(a.dispatch(ctx, words))
	return code, b.String()
}

// Usages are the usage lines of all commands that people may type.
func Usages() (out []string) {
	for _, c := range commands() {
		if c.hidden {
			continue
		}
		if c.setup != nil {
			out = append(out, strings.TrimSpace(c.name+" "+c.args))
		}
		for _, sub := range c.subs {
			if sub.hidden {
				continue
			}
			out = append(out, strings.TrimSpace(c.name+" "+sub.name+" "+sub.args))
		}
	}
	return out
}
