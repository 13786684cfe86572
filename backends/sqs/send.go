package sqs

import (
	"context"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// mostBytes is how large a message, and all entries of one call together, may be
// (Amazon SQS quotas).
const mostBytes = 1 << 20

// body is what is sent.
func (p *parcel) body(patched []byte) []byte {
	if patched != nil {
		return patched
	}
	return p.letter.Payload
}

// size counts as SQS does: the body, and names, types and values of attributes.
func (p *parcel) size(patched []byte) int {
	n := len(p.body(patched))
	for _, v := range p.fields {
		n += len(v.Name) + len(v.Type) + len(v.Value)
	}
	return n
}

// fits reports whether SQS and the destination take the message: not too large,
// not empty, and of the characters that SendMessage allows.
func (p *parcel) fits(patched []byte) bool {
	largest := mostBytes
	if p.to.largest > 0 {
		largest = min(largest, p.to.largest)
	}
	body := p.body(patched)
	return len(body) > 0 && p.size(patched) <= largest && allowed(body)
}

// allowed reports whether a body is of #x9, #xA, #xD, #x20 to #xD7FF, #xE000 to
// #xFFFD and #x10000 to #x10FFFF (SendMessage).
func allowed(body []byte) bool {
	for len(body) > 0 {
		r, n := utf8.DecodeRune(body)
		switch {
		case r == utf8.RuneError && n == 1:
			return false
		case r < 0x20 && r != '\t' && r != '\n' && r != '\r', r == 0xFFFE, r == 0xFFFF:
			return false
		}
		body = body[n:]
	}
	return true
}

// entry is one message of a call. n is its number within the call.
func (f *found) entry(n int, ticket string) types.SendMessageBatchRequestEntry {
	p := f.parcel
	e := types.SendMessageBatchRequestEntry{
		Id: aws.String(strconv.Itoa(n)), MessageBody: aws.String(string(p.body(f.item.Body))),
	}
	for _, v := range p.fields {
		if e.MessageAttributes == nil {
			e.MessageAttributes = map[string]types.MessageAttributeValue{}
		}
		a := types.MessageAttributeValue{DataType: &v.Type}
		if v.binary() {
			a.BinaryValue = v.Value
		} else {
			a.StringValue = aws.String(string(v.Value))
		}
		e.MessageAttributes[v.Name] = a
	}
	if trace := p.facts.system(types.MessageSystemAttributeNameAWSTraceHeader); trace != "" {
		e.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
			string(types.MessageSystemAttributeNameForSendsAWSTraceHeader): {DataType: aws.String("String"), StringValue: &trace},
		}
	}
	if group := p.group(); group != "" {
		e.MessageGroupId = &group
	}
	if p.to.fifo() {
		// One of its own for each attempt: SQS would take a message with an id that
		// it has seen in the last five minutes and not deliver it.
		e.MessageDeduplicationId = aws.String(ticket + "-" + strconv.Itoa(f.item.N))
	}
	return e
}

func (p *parcel) group() string {
	return p.facts.system(types.MessageSystemAttributeNameMessageGroupId)
}

// call is what goes in one SendMessageBatch.
type call struct {
	to    *queue
	items []found
	bytes int
}

// calls packs messages by destination, at most ten and a mebibyte in each call, for
// several lanes. The messages of a FIFO queue's group keep their order: they are in
// one lane, one call after the other.
func calls(ready []found) [][]*call {
	type key struct {
		arn  string
		lane uint64
	}
	out := map[key][]*call{}
	full := uint64(0)
	for _, f := range ready {
		k := key{arn: f.parcel.to.arn, lane: full}
		if f.parcel.to.fifo() {
			k.lane = lane(f.parcel.group())
		}
		size := f.parcel.size(f.item.Body)
		if last := len(out[k]) - 1; last < 0 || len(out[k][last].items) == most || out[k][last].bytes+size > mostBytes {
			if last >= 0 && !f.parcel.to.fifo() {
				full++
				k.lane = full
			}
			out[k] = append(out[k], &call{to: f.parcel.to})
		}
		c := out[k][len(out[k])-1]
		c.items, c.bytes = append(c.items, f), c.bytes+size
	}
	return slices.Collect(maps.Values(out))
}

func lane(group string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(group))
	return h.Sum64() % lanes
}

// send makes one call and says what became of each message.
func (s *Store) send(ctx context.Context, c *call, ticket string) []backends.Outcome {
	out := make([]backends.Outcome, len(c.items))
	entries := make([]types.SendMessageBatchRequestEntry, len(c.items))
	for i := range c.items {
		out[i].N = c.items[i].item.N
		entries[i] = c.items[i].entry(i, ticket)
	}
	api, err := s.api(ctx)
	if err == nil {
		err = s.sendBatch(ctx, api, c, entries, out)
	}
	if err != nil {
		state, code := backends.Doubtful, backends.NoAnswer
		if refused(err) {
			state, code = backends.Failed, backends.Refused
		}
		for i := range out {
			out[i].State, out[i].Code, out[i].Cause = state, code, explain(err, "SendMessage", roleDestination)
		}
	}
	return out
}

func (s *Store) sendBatch(ctx context.Context, api *sqs.Client, c *call, entries []types.SendMessageBatchRequestEntry, out []backends.Outcome) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	var opts []func(*sqs.Options)
	if !c.to.fifo() {
		opts = append(opts, once)
	}
	res, err := api.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &c.to.url, Entries: entries}, opts...)
	if err != nil {
		return err
	}
	for i := range out { // an entry that the answer does not name
		out[i].State, out[i].Code = backends.Doubtful, backends.NoAnswer
	}
	for _, ok := range res.Successful {
		if i, err := strconv.Atoi(aws.ToString(ok.Id)); err == nil && i >= 0 && i < len(out) {
			out[i] = backends.Outcome{N: out[i].N, State: backends.Sent, NewID: aws.ToString(ok.MessageId)}
			if out[i].NewID == c.items[i].item.Ref.ID { // taken for a repetition, and not delivered
				out[i].State, out[i].Code = backends.Doubtful, backends.NoAnswer
			}
		}
	}
	for _, bad := range res.Failed {
		if i, err := strconv.Atoi(aws.ToString(bad.Id)); err == nil && i >= 0 && i < len(out) {
			out[i].State, out[i].Code, out[i].Cause = backends.Failed, backends.Refused, failure(bad)
			if !bad.SenderFault { // SQS failed: it may have failed after it kept the message
				out[i].State, out[i].Code = backends.Doubtful, backends.NoAnswer
			}
		}
	}
	return nil
}

// sendTime bounds one send; then its answer counts as lost.
const sendTime = 30 * time.Second
