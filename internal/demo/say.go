package demo

import (
	"fmt"
	"strings"
)

// say prints one line of the story. After an error it prints nothing more.
func (s *story) say(format string, args ...any) {
	if s.said != nil {
		return
	}
	if _, err := fmt.Fprintf(s.Out, format+"\n", args...); err != nil {
		s.said = fmt.Errorf("telling the story: %w", err)
	}
}

// chapter begins a part.
func (s *story) chapter(format string, args ...any) {
	title := fmt.Sprintf(format, args...)
	if s.Color {
		title = "\x1b[1m" + title + "\x1b[0m"
	}
	s.say("\n%s", title)
}

// quote prints lines that somebody else wrote, further in.
func (s *story) quote(lines ...string) {
	for _, line := range lines {
		s.say("     %s", strings.TrimRight(line, " "))
	}
}

// several is "1 charge" or "3 charges".
func several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
