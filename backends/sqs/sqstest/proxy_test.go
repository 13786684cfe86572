package sqstest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/redrive-mcp/redrive-mcp/backends/sqs/sqstest"
)

// stand is a queue, once as it is and once through a proxy whose client tries
// each call once.
type stand struct {
	t     *testing.T
	proxy *sqstest.Proxy
	queue sqstest.Queue
	sqs   *sqs.Client
}

// proxied runs a test before each server.
func proxied(t *testing.T, test func(stand)) {
	sqstest.Each(t, func(t *testing.T, s sqstest.Server) {
		p := sqstest.NewProxy(t, s)
		once := func(o *sqs.Options) { o.Retryer = aws.NopRetryer{} }
		test(stand{t: t, proxy: p, queue: s.Create(t, nil), sqs: p.Server.Client(t, once)})
	})
}

func (s stand) send(body string) (*sqs.SendMessageOutput, error) {
	return s.sqs.SendMessage(s.t.Context(), &sqs.SendMessageInput{QueueUrl: &s.queue.URL, MessageBody: &body})
}

func (s stand) sendAll(bodies ...string) *sqs.SendMessageBatchOutput {
	s.t.Helper()
	in := &sqs.SendMessageBatchInput{QueueUrl: &s.queue.URL}
	for i, body := range bodies {
		in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: ptr(fmt.Sprint("e", i)), MessageBody: &body})
	}
	out, err := s.sqs.SendMessageBatch(s.t.Context(), in)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

func (s stand) receive(most int32) []types.Message {
	s.t.Helper()
	in := receive(s.queue, most)
	in.WaitTimeSeconds = 1 // a busy server's answer may be empty otherwise
	out, err := s.sqs.ReceiveMessage(s.t.Context(), in)
	if err != nil {
		s.t.Fatal(err)
	}
	return out.Messages
}

// holds fails unless the queue holds so many messages.
func (s stand) holds(want int) {
	s.t.Helper()
	if got := s.queue.Count(s.t); got.All() != want {
		s.t.Errorf("the queue holds %+v, want %d messages", got, want)
	}
}

func bodies(messages []types.Message) (all []string) {
	for _, m := range messages {
		all = append(all, *m.Body)
	}
	return all
}

// TestProxyPasses: without rules nothing changes, whatever its size.
func TestProxyPasses(t *testing.T) {
	proxied(t, func(s stand) {
		for _, body := range []string{"a", strings.Repeat("é", 1<<19)} {
			if _, err := s.send(body); err != nil {
				s.t.Fatal(err)
			}
			got := s.receive(1)
			if len(got) != 1 || *got[0].Body != body {
				s.t.Fatalf("%d messages came back", len(got))
			}
			if _, err := s.sqs.DeleteMessage(s.t.Context(), &sqs.DeleteMessageInput{QueueUrl: &s.queue.URL, ReceiptHandle: got[0].ReceiptHandle}); err != nil {
				s.t.Fatal(err)
			}
		}
		s.holds(0)
		var actions []string
		for _, c := range s.proxy.Calls() {
			if actions = append(actions, c.Action); c.Status() != 200 || c.Queue != s.queue.Name || !bytes.Equal(c.Answer.Body, c.Done.Body) {
				s.t.Errorf("%s about %q was answered with %d", c.Action, c.Queue, c.Status())
			}
		}
		if want := []string{"SendMessage", "ReceiveMessage", "DeleteMessage"}; !slices.Equal(actions, append(want, want...)) {
			s.t.Errorf("calls %v", actions)
		}
		var in sqs.SendMessageInput
		if err := s.proxy.Calls("SendMessage")[0].Decode(&in); err != nil || *in.MessageBody != "a" {
			s.t.Errorf("decoded %v, %v", in, err)
		}
		if s.proxy.Forget(); len(s.proxy.Calls()) != 0 {
			s.t.Error("calls are left after Forget")
		}
	})
}

// TestProxyDrops: an answer is lost after the effect, a request before it, and
// the calls around them go through on the same client.
func TestProxyDrops(t *testing.T) {
	proxied(t, func(s stand) {
		s.proxy.Add(sqstest.Rule{Action: "SendMessage", Nth: 2, Do: sqstest.DropAnswer()},
			sqstest.Rule{Action: "SendMessage", Nth: 4, Do: sqstest.DropRequest()})
		for i, fails := range []bool{false, true, false, true, false} {
			if _, err := s.send(fmt.Sprint(i)); (err != nil) != fails {
				s.t.Errorf("call %d: %v", i+1, err)
			}
		}
		var seen []string
		for _, e := range s.proxy.Effects() {
			seen = append(seen, fmt.Sprint(e.Body, e.Told))
		}
		if !slices.Equal(seen, []string{"0true", "1false", "2true", "4true"}) {
			s.t.Errorf("effects %v", seen)
		}
		calls := s.proxy.Calls("SendMessage")
		if calls[1].Status() != 0 || calls[1].Done == nil || calls[3].Status() != 0 || calls[3].Done != nil {
			s.t.Errorf("dropped calls are remembered as %v and %v", calls[1], calls[3])
		}
		got := bodies(s.queue.Drain(s.t))
		if slices.Sort(got); !slices.Equal(got, []string{"0", "1", "2", "4"}) {
			s.t.Errorf("arrived %v", got)
		}
	})
}

// TestProxyDelays: a call waits, and one whose client has gone never arrives.
func TestProxyDelays(t *testing.T) {
	proxied(t, func(s stand) {
		const wait = 200 * time.Millisecond
		s.proxy.Add(sqstest.Rule{Action: "SendMessage", Nth: 1, Do: sqstest.Delay(wait)}, sqstest.Rule{Action: "SendMessage", Nth: 2, Do: sqstest.Delay(time.Hour)})
		start := time.Now()
		if _, err := s.send("late"); err != nil || time.Since(start) < wait {
			s.t.Errorf("after %v: %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(s.t.Context(), wait)
		defer cancel()
		if _, err := s.sqs.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &s.queue.URL, MessageBody: ptr("never")}); err == nil {
			s.t.Error("a call outlived its client")
		}
		s.holds(1)
	})
}

// TestProxyHooks: both sides of an effect can be waited for.
func TestProxyHooks(t *testing.T) {
	proxied(t, func(s stand) {
		var seen []int
		look := func() { seen = append(seen, s.queue.Count(s.t).All()) }
		s.proxy.Add(sqstest.Rule{Action: "SendMessage", Do: sqstest.Before(look)}, sqstest.Rule{Action: "SendMessage", Do: sqstest.After(look)})
		if _, err := s.send("x"); err != nil || !slices.Equal(seen, []int{0, 1}) {
			s.t.Errorf("counted %v, %v", seen, err)
		}
	})
}

// TestProxyRefuses: every error arrives as the SDK's type or code for it, and the
// server sees nothing.
func TestProxyRefuses(t *testing.T) {
	proxied(t, func(s stand) {
		for _, c := range []struct {
			do     sqstest.Fault
			code   string
			status int
			into   any
		}{
			{sqstest.Status(500), "InternalFailure", 500, nil},
			{sqstest.Status(503), "ServiceUnavailable", 503, nil},
			{sqstest.Throttled(), "RequestThrottled", 403, new(*types.RequestThrottled)},
			{sqstest.Throttling(), "ThrottlingException", 400, nil},
			{sqstest.OverLimit(), "OverLimit", 403, new(*types.OverLimit)},
			{sqstest.NoQueue(), "AWS.SimpleQueueService.NonExistentQueue", 400, new(*types.QueueDoesNotExist)},
			{sqstest.AccessDenied(), "AccessDenied", 403, nil},
			{sqstest.KmsAccessDenied.Refuses(), "KMS.AccessDeniedException", 400, new(*types.KmsAccessDenied)},
			{sqstest.KmsDisabled.Refuses(), "KMS.DisabledException", 400, new(*types.KmsDisabled)},
			{sqstest.KmsInvalidKeyUsage.Refuses(), "KMS.InvalidKeyUsageException", 400, new(*types.KmsInvalidKeyUsage)},
			{sqstest.KmsInvalidState.Refuses(), "KMS.InvalidStateException", 400, new(*types.KmsInvalidState)},
			{sqstest.KmsNotFound.Refuses(), "KMS.NotFoundException", 400, new(*types.KmsNotFound)},
			{sqstest.KmsOptInRequired.Refuses(), "KMS.OptInRequired", 403, new(*types.KmsOptInRequired)},
			{sqstest.KmsThrottled.Refuses(), "KMS.ThrottlingException", 400, new(*types.KmsThrottled)},
		} {
			s.proxy.Clear()
			s.proxy.Forget()
			s.proxy.Add(sqstest.Rule{Action: "SendMessage", Do: c.do})
			_, err := s.send("refused")
			var api smithy.APIError
			if !errors.As(err, &api) || api.ErrorCode() != c.code || c.into != nil && !errors.As(err, c.into) {
				s.t.Errorf("%s arrived as %v", c.code, err)
			}
			if got := s.proxy.Calls("SendMessage"); len(got) != 1 || got[0].Status() != c.status || got[0].Done != nil {
				s.t.Errorf("%s: calls %v", c.code, got)
			}
		}
		s.holds(0)
	})
}

// TestProxyDenies: a permission is missing for the call and its batch, until the
// rules go, and the sentence names it.
func TestProxyDenies(t *testing.T) {
	proxied(t, func(s stand) {
		s.proxy.Deny("SendMessage", "DeleteMessage")
		_, single := s.send("a")
		_, batched := s.sqs.SendMessageBatch(s.t.Context(), &sqs.SendMessageBatchInput{QueueUrl: &s.queue.URL, Entries: []types.SendMessageBatchRequestEntry{{Id: ptr("a"), MessageBody: ptr("a")}}})
		for _, err := range []error{single, batched} {
			want := "is not authorized to perform: sqs:sendmessage on resource: " + s.queue.ARN
			if err == nil || !strings.Contains(err.Error(), want) {
				s.t.Errorf("want %q in %v", want, err)
			}
		}
		s.receive(1) // is allowed
		s.proxy.Clear()
		if _, err := s.send("a"); err != nil {
			s.t.Error(err)
		}
	})
}

// TestProxyBatches: picked entries fail by themselves. The server has not seen
// them, or has done them all the same.
func TestProxyBatches(t *testing.T) {
	proxied(t, func(s stand) {
		s.proxy.Add(sqstest.Rule{Action: "SendMessageBatch", Nth: 1, Do: sqstest.FailEntries("InvalidMessageContents", true, sqstest.At(0, 2))},
			sqstest.Rule{Action: "SendMessageBatch", Nth: 2, Do: sqstest.FailEntries("InternalError", false, sqstest.At(0, 1, 2, 3))},
			sqstest.Rule{Action: "SendMessageBatch", Nth: 3, Do: sqstest.Disown("InternalError", sqstest.WithBody("m1"))})
		check := func(call string, out *sqs.SendMessageBatchOutput, code string, failed ...string) {
			s.t.Helper()
			var got []string
			for _, f := range out.Failed {
				if got = append(got, *f.Id); *f.Code != code || f.SenderFault != (code != "InternalError") {
					s.t.Errorf("%s: %s failed with %s, its sender's fault: %v", call, *f.Id, *f.Code, f.SenderFault)
				}
			}
			if slices.Sort(got); !slices.Equal(got, failed) || len(out.Successful) != 4-len(failed) {
				s.t.Errorf("%s: %v failed of which %v should, %d are successful", call, got, failed, len(out.Successful))
			}
		}
		check("some", s.sendAll("k0", "k1", "k2", "k3"), "InvalidMessageContents", "e0", "e2")
		check("all", s.sendAll("l0", "l1", "l2", "l3"), "InternalError", "e0", "e1", "e2", "e3")
		if last := s.proxy.Calls()[1]; last.Done != nil {
			s.t.Error("the server was asked for nothing")
		}
		check("disowned", s.sendAll("m0", "m1", "m2", "m3"), "InternalError", "e1")
		var told []string
		for _, e := range s.proxy.Effects() {
			told = append(told, fmt.Sprint(e.Body, e.Told))
		}
		if want := []string{"k1true", "k3true", "m0true", "m1false", "m2true", "m3true"}; !slices.Equal(told, want) {
			s.t.Errorf("effects %v, want %v", told, want)
		}
		s.proxy.Add(sqstest.Rule{Action: "DeleteMessageBatch", Do: sqstest.FailEntries("InternalError", false, sqstest.At(0))})
		got := s.receive(10)
		in := &sqs.DeleteMessageBatchInput{QueueUrl: &s.queue.URL}
		for i, m := range got {
			in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: ptr(fmt.Sprint("e", i)), ReceiptHandle: m.ReceiptHandle})
		}
		out, err := s.sqs.DeleteMessageBatch(s.t.Context(), in)
		if err != nil || len(out.Failed) != 1 || len(out.Successful) != len(got)-1 {
			s.t.Fatalf("%v, %v", out, err)
		}
		effects := s.proxy.Effects()
		if last := effects[len(effects)-1]; !last.Deleted || last.Body == "" || last.MessageID == "" || !last.Told {
			s.t.Errorf("a deletion is remembered as %+v", last)
		}
		s.holds(1)
	})
}

// TestProxyDuplicates: a message comes twice, in one answer or in two, each time
// with a handle that works.
func TestProxyDuplicates(t *testing.T) {
	for name, do := range map[string]func() sqstest.Fault{"twice": sqstest.Twice, "again": sqstest.Again} {
		t.Run(name, func(t *testing.T) {
			proxied(t, func(s stand) {
				s.queue.Fill(s.t, 12)
				s.proxy.Add(sqstest.Rule{Action: "ReceiveMessage", Nth: 1, Do: do()})
				first := s.receive(10)
				second := s.receive(10)
				if len(first) != 10 || len(first)+len(second) != 13 {
					s.t.Fatalf("%d and %d messages", len(first), len(second))
				}
				handles, times := map[string]bool{}, map[string]int{}
				for _, m := range slices.Concat(first, second) {
					handles[*m.ReceiptHandle] = true
					times[*m.MessageId]++
				}
				if len(handles) != 13 || len(times) != 12 {
					s.t.Errorf("%d handles of %d messages", len(handles), len(times))
				}
				for _, m := range slices.Concat(first, second) {
					if times[*m.MessageId] != 2 {
						continue
					}
					if _, err := s.sqs.ChangeMessageVisibility(s.t.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: &s.queue.URL, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 60}); err != nil {
						s.t.Error(err)
					}
				}
				for _, m := range slices.Concat(first, second) {
					if _, err := s.sqs.DeleteMessage(s.t.Context(), &sqs.DeleteMessageInput{QueueUrl: &s.queue.URL, ReceiptHandle: m.ReceiptHandle}); err != nil {
						s.t.Errorf("deleting with %s: %v", *m.ReceiptHandle, err)
					}
				}
				s.holds(0)
			})
		})
	}
}

// TestProxyReceives: answers are out of order, short, or empty for a while, and
// nothing is stranded by it.
func TestProxyReceives(t *testing.T) {
	proxied(t, func(s stand) {
		s.queue.Send(s.t, sqstest.Numbered(10)...)
		s.proxy.Add(sqstest.Rule{Action: "ReceiveMessage", To: 2, Do: sqstest.Empty()},
			sqstest.Rule{Action: "ReceiveMessage", From: 3, To: 4, Do: sqstest.Short(3)},
			sqstest.Rule{Action: "ReceiveMessage", Nth: 5, Do: sqstest.Reverse()})
		var sizes []int
		for range 6 {
			sizes = append(sizes, len(s.receive(10)))
		}
		if !slices.Equal(sizes, []int{0, 0, 3, 3, 4, 0}) {
			s.t.Errorf("answers of %v messages", sizes)
		}
		calls := s.proxy.Calls("ReceiveMessage")
		given, told := order(calls[4].Done), order(calls[4].Answer)
		if slices.Reverse(told); len(given) != 4 || !slices.Equal(given, told) {
			s.t.Errorf("given %v, told in reverse %v", given, told)
		}
	})
}

// order is the order in which an answer names bodies.
func order(a *sqstest.Answer) (all []string) {
	for part := range bytes.SplitSeq(a.Body, []byte(`"Body":"`)) {
		if end := bytes.IndexByte(part, '}'); bytes.HasPrefix(part, []byte(`{\"n\":`)) && end > 0 {
			all = append(all, string(part[:end]))
		}
	}
	return all
}

// TestProxyPicks: a rule knows its queue, and can look into a request.
func TestProxyPicks(t *testing.T) {
	proxied(t, func(s stand) {
		s.proxy.Add(sqstest.Rule{Queue: "another", Do: sqstest.DropRequest()},
			sqstest.Rule{Do: sqstest.Status(http.StatusServiceUnavailable), When: func(c sqstest.Call) bool {
				var in sqs.SendMessageInput
				return c.Decode(&in) == nil && aws.ToString(in.MessageBody) == "bad"
			}})
		for body, fails := range map[string]bool{"good": false, "bad": true} {
			if _, err := s.send(body); (err != nil) != fails {
				s.t.Errorf("sending %s: %v", body, err)
			}
		}
	})
}

// TestProxyRetries: the SDK's own retry meets the next call, so one lost answer
// to a send is two messages.
func TestProxyRetries(t *testing.T) {
	proxied(t, func(s stand) {
		s.proxy.Add(sqstest.Rule{Action: "SendMessage", Nth: 1, Do: sqstest.DropAnswer()})
		if _, err := s.proxy.Server.Client(s.t).SendMessage(s.t.Context(), &sqs.SendMessageInput{QueueUrl: &s.queue.URL, MessageBody: ptr("x")}); err != nil {
			s.t.Fatal(err)
		}
		s.holds(2)
	})
}

// TestProxyEffects: what stands before a deletion was sent before it.
func TestProxyEffects(t *testing.T) {
	sqstest.Each(t, func(t *testing.T, s sqstest.Server) {
		pair, proxy := s.Pair(t, sqstest.Options{}), sqstest.NewProxy(t, s)
		pair.Dead.Fill(t, 30)
		client := proxy.Server.Client(t)
		dead := pair.Dead
		dead.Client = client
		for _, m := range dead.Drain(t) { // the wrong way round
			if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &pair.Source.URL, MessageBody: m.Body}); err != nil {
				t.Fatal(err)
			}
		}
		effects := proxy.Effects()
		if len(effects) != 60 {
			t.Fatalf("%d effects of 30 messages that moved", len(effects))
		}
		for i, e := range effects {
			want := pair.Source.Name
			if i < 30 {
				want = pair.Dead.Name
			}
			if e.Deleted != (i < 30) || !e.Told || e.Queue != want || e.Body == "" || e.MessageID == "" {
				t.Errorf("effect %d is %+v", i, e)
			}
		}
	})
}
