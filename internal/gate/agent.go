package gate

import "context"

// Agent is what an agent may do. It has no way to what people may do.
type Agent struct{ s *session }

// ListQueues lists the queues of the policy.
func (a *Agent) ListQueues(ctx context.Context, args QueuesArgs) (*QueuesResult, error) {
	return a.s.queues(ctx, args)
}

// Group counts the letters of a queue by error group.
func (a *Agent) Group(ctx context.Context, args GroupArgs) (*GroupResult, error) {
	return a.s.group(ctx, args)
}

// List gives one page of letters, without payloads.
func (a *Agent) List(ctx context.Context, args ListArgs) (*ListResult, error) {
	return a.s.list(ctx, args)
}

// Inspect shows one letter.
func (a *Agent) Inspect(ctx context.Context, args InspectArgs) (*InspectResult, error) {
	args.Reveal = false
	return a.s.inspect(ctx, args)
}

// ProposePatch tries a patch and keeps it under an id. It changes no letter.
func (a *Agent) ProposePatch(ctx context.Context, args PatchArgs) (*PatchResult, error) {
	return a.s.proposePatch(ctx, args)
}

// RequestRedrive asks for a redrive: refused, run at once, or left for people.
func (a *Agent) RequestRedrive(ctx context.Context, args RedriveArgs) (*RequestResult, error) {
	return a.s.request(ctx, args)
}

// GetRedrive tells the state of one request, or of the open ones.
func (a *Agent) GetRedrive(ctx context.Context, args GetArgs) (*StatusResult, error) {
	return a.s.get(ctx, args)
}

// CancelRedrive withdraws one's own pending request or stops a running one
// between two batches.
func (a *Agent) CancelRedrive(ctx context.Context, args CancelArgs) (*StatusResult, error) {
	return a.s.cancel(ctx, args)
}

// Heard records a message that reaches none of the methods above: another
// method, an unknown tool, a malformed call. An error means that it could not
// be recorded, and then it must not be answered with anything but that.
func (a *Agent) Heard(ctx context.Context, m Message) error { return a.s.heard(ctx, m) }

// Message is one message of a client.
type Message struct {
	Method string // tools/list, initialize …; "malformed" where there is none
	Tool   string // for tools/call
	Err    string // why it was refused, our own words; empty if it was served
}

// SetClient tells who the client says it is, once that is known.
func (a *Agent) SetClient(name, session string) { a.s.setClient(name, session) }

// Queues are the names of the queues, for completions and prompts.
func (a *Agent) Queues() []string { return a.s.queueNames() }

// Leave says that the client is gone: a direct run, begun or about to begin,
// finishes the batch in hand, its first at the least, and releases the rest.
// Calls that were accepted are still answered.
func (a *Agent) Leave() { a.s.left() }

// Close ends the session: a direct run finishes the batch in hand and releases
// the rest.
func (a *Agent) Close(ctx context.Context) error { return a.s.close(ctx) }
