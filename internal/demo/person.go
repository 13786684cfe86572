package demo

import (
	"context"
	"fmt"
	"os/user"
	"strings"
)

// userName is what the operating system calls the one who runs the demo, and
// whether a policy can name them.
func userName() (name string, ok bool) {
	u, err := user.Current()
	if err != nil || u.Username == "" {
		return "somebody", false
	}
	return u.Username, nameable(u.Username)
}

// nameable says whether a policy takes a name: 1 to 63 of a-z 0-9 _ . - that
// begin with a letter or a digit.
func nameable(name string) bool {
	return name != "" && len(name) <= 63 && !strings.ContainsAny(name[:1], "_.-") &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == ""
}

// worthReading are the lines of an approval that the story repeats, by how they
// begin. The command prints the whole statement.
var worthReading = []string{"messages:", "agent says, unchecked:", "- ", "+ ", "came to "}

// approve is the person's part, at the command line.
func (s *story) approve(ctx context.Context) error {
	s.chapter("3. A person decides")
	waiting, err := s.run(ctx, 0, "pending")
	if err != nil {
		return err
	}
	if !strings.Contains(waiting, s.request) {
		return fmt.Errorf("request %s is not pending: %s", s.request, waiting)
	}
	s.command("pending")
	s.quote(waiting)
	printed, err := s.run(ctx, 0, "approve", s.request, "--yes")
	if err != nil {
		return err
	}
	s.command("approve", s.request, "--yes")
	return s.excerpt(printed)
}

// excerpt prints the first line of each beginning, all of which must be there.
func (s *story) excerpt(printed string) error {
	at := 0
	lines := strings.Split(printed, "\n")
	for _, begin := range worthReading {
		for at < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[at]), begin) {
			at++
		}
		if at == len(lines) {
			return fmt.Errorf("an approval should print a line with %q: %s", begin, printed)
		}
		s.quote(strings.TrimSpace(lines[at]))
	}
	return nil
}
