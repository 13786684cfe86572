package demo

import (
	"context"
	"strings"
)

// approve is the person's part, at the command line.
func (s *story) approve(ctx context.Context) error {
	s.chapter("3. A person decides")
	waiting, err := s.done(ctx, "pending")
	if err != nil {
		return err
	}
	s.say("   $ redrive-mcp pending")
	s.quote(strings.Split(strings.TrimSpace(waiting), "\n")...)
	shown, err := s.done(ctx, "approve", s.request, "--yes")
	if err != nil {
		return err
	}
	s.say("   $ redrive-mcp approve %s", s.request)
	s.quote(strings.Split(strings.TrimSpace(shown), "\n")...)
	return nil
}
