package demo

import "context"

func (s *story) fail(ctx context.Context) error {
	if err := s.jobs.enqueue(ctx, evening()); err != nil {
		return err
	}
	_, err := s.worker(ctx, "--provider-down")
	return err
}
func (s *story) work(ctx context.Context) error  { return nil }
func (s *story) audit(ctx context.Context) error { return nil }
func (s *story) end(ctx context.Context) error   { return nil }
