package sqstest

import (
	"encoding/json"
	"slices"
)

// Effect is a message that a server has taken, or deleted when it was asked to.
type Effect struct {
	Deleted   bool // otherwise sent
	Queue     string
	MessageID string
	Body      string
	Told      bool // the client was told so

	at int
}

// Effects are what came of all calls so far, told to the client or not: what was
// sent in the order in which the server had it, what was deleted in the order in
// which it was asked to. So what stands before a deletion was there before it.
func (p *Proxy) Effects() []Effect {
	var all []Effect
	received := map[string]Effect{} // by receipt handle
	for _, c := range p.Calls() {
		if c.Done == nil || c.Done.Status != 200 {
			continue
		}
		var in request
		var out response
		json.Unmarshal(c.Request, &in)
		json.Unmarshal(c.Done.Body, &out) // empty where there is nothing to say
		for _, m := range out.Messages {
			received[m.ReceiptHandle] = Effect{Deleted: true, Queue: c.Queue, MessageID: m.MessageId, Body: m.Body}
		}
		told := c.told()
		for _, e := range in.entries(c.Action) {
			id, done := out.done(c.Action, e.Id)
			if !done {
				continue
			}
			effect := Effect{Queue: c.Queue, MessageID: id, Body: e.MessageBody, at: c.ended}
			if deletes(c.Action) {
				effect = received[realHandle(e.ReceiptHandle)]
				effect.Deleted, effect.Queue, effect.at = true, c.Queue, c.began
			}
			effect.Told = told(e.Id)
			all = append(all, effect)
		}
	}
	slices.SortStableFunc(all, func(a, b Effect) int { return a.at - b.at })
	return all
}

func deletes(action string) bool { return action == "DeleteMessage" || action == "DeleteMessageBatch" }

// told answers which entries of a call the client was told to be done.
func (c Call) told() func(id string) bool {
	var out response
	if c.Status() != 200 {
		return func(string) bool { return false }
	}
	json.Unmarshal(c.Answer.Body, &out)
	return func(id string) bool { _, done := out.done(c.Action, id); return done }
}

// request and response are of what counts here the fields of all actions.
type request struct {
	Entry
	Entries []Entry
}

type response struct {
	MessageId  string
	Successful []struct{ Id, MessageId string }
	Messages   []struct{ MessageId, ReceiptHandle, Body string }
}

// entries are what a call sends or deletes, one where it is no batch.
func (in request) entries(action string) []Entry {
	switch action {
	case "SendMessage", "DeleteMessage":
		return []Entry{in.Entry}
	case "SendMessageBatch", "DeleteMessageBatch":
		return in.Entries
	}
	return nil
}

// done is the id of the message that an entry became, if it became one.
func (out response) done(action, id string) (message string, done bool) {
	if action == "SendMessage" || action == "DeleteMessage" {
		return out.MessageId, true
	}
	for _, s := range out.Successful {
		if s.Id == id {
			return s.MessageId, true
		}
	}
	return "", false
}
