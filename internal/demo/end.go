package demo

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
)

// audit verifies the log, and a copy that somebody changed.
func (s *story) audit(ctx context.Context) error {
	s.chapter("5. An auditor asks whether the log is what was written")
	intact, err := s.run(ctx, 0, "audit", "verify")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(intact, "intact\n") {
		return errors.New("audit verify does not say intact: " + intact)
	}
	s.command("audit", "verify")
	s.quoteLines(intact, "intact", "proof")
	change, err := s.dir.tamper()
	if err != nil {
		return err
	}
	caught, err := s.run(ctx, 1, "audit", "verify", "--state", "tampered")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(caught, "tampered\n") {
		return errors.New("audit verify does not say tampered: " + caught)
	}
	s.command("audit", "verify", "--state", "tampered   # a copy with one byte changed:", change)
	s.quoteLines(caught, "tampered", "first bad record")
	return nil
}

// quoteLines prints the lines that begin with one of these words.
func (s *story) quoteLines(text string, begins ...string) {
	for line := range strings.SplitSeq(text, "\n") {
		for _, begin := range begins {
			if strings.HasPrefix(line, begin) {
				s.quote(line)
			}
		}
	}
}

// end says how to go on.
func (s *story) end(ctx context.Context) error {
	if s.Keep == "" {
		s.chapter("Everything was checked as it was told. To try it yourself, with Claude as the agent:")
		s.say("   %s demo --keep DIR", s.program())
		return nil
	}
	if _, err := s.die(ctx, evening(left, 2, 1)); err != nil {
		return err
	}
	queues, err := s.run(ctx, 0, "queues")
	if err != nil {
		return err
	}
	s.chapter("Your turn. The provider was down once more:")
	s.quote(queues)
	s.say("   %s serve --policy %s --principal %s", s.adding(), shell(s.policy), shell(s.person))
	s.say("   Ask it: What is dead in payments, why, and what of it can run again?")
	s.say("   %s   # then: approve ID", s.waits())
	s.say("   %s demo worker --db %s --until-idle   # runs what was redriven", s.program(), shell(s.dir.path("jobs.db")))
	return nil
}

// program is how a person starts this program again. What go run built is gone
// as soon as it ends.
func (s *story) program() string {
	if passing(s.Self) {
		return "go run ."
	}
	return shell(s.Self)
}

// adding begins the command that gives a client this program as a server.
func (s *story) adding() string {
	if passing(s.Self) {
		return `go build -o redrive-mcp . && claude mcp add redrive -- "$PWD/redrive-mcp"`
	}
	return "claude mcp add redrive -- " + shell(s.Self)
}

// waits is the command that lists what waits. go run works in the module's
// folder only, so there the policy is named.
func (s *story) waits() string {
	if passing(s.Self) {
		return "go run . pending --policy " + shell(s.policy)
	}
	return "cd " + shell(string(s.dir)) + " && " + shell(s.Self) + " pending"
}

// passing says whether an executable lies where the go command builds for
// itself: go-build… in the folder for temporary files, or its build cache.
func passing(file string) bool {
	for part := range strings.SplitSeq(filepath.ToSlash(file), "/") {
		if strings.HasPrefix(part, "go-build") {
			return true
		}
	}
	return false
}

// shell quotes a word for a POSIX shell where it needs that.
func shell(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+:@") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
