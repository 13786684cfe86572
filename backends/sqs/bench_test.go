package sqs

import (
	"cmp"
	"context"
	"crypto/rand"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/backendtest"
	"github.com/redrive-mcp/redrive-mcp/backends/sqs/sqstest"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
	"github.com/redrive-mcp/redrive-mcp/internal/snapshot"
)

// bed is a pair of queues of a test server, and the rest of the world to them.
type bed struct {
	sqstest.Pair
	fifo  bool
	snaps func(context.Context) (backends.Snapshots, error)
	src   Source // as the policy has it

	peek sync.Mutex // what one receives another one does not see
	mu   sync.Mutex
	died map[string]sqstest.Letter // by id
}

func newBed(t testing.TB, server sqstest.Server, o sqstest.Options) *bed {
	t.Helper()
	o.MaxReceive = cmp.Or(o.MaxReceive, 1000) // the bench looks into the source again and again
	b := &bed{Pair: server.Pair(t, o), fifo: o.FIFO, snaps: snapshots(t), died: map[string]sqstest.Letter{}}
	b.src = Source{DLQ: b.Dead.Name, Destinations: []string{b.Source.Name}, Reason: Reason{Attributes: Named{Message: "error"}}, Job: "job"}
	return b
}

// open is a fresh connection that waits for nobody: a test server's empty answer
// is true at once.
func (b *bed) open(t testing.TB) *Store {
	t.Helper()
	return b.openAt(t, b.Dead.Server.Endpoint)
}

func (b *bed) openAt(t testing.TB, endpoint string) *Store {
	t.Helper()
	src := b.src
	s, err := open(backends.Config{
		Name:    "aws",
		Backend: &Backend{Region: b.Dead.Server.Region, Endpoint: endpoint, AccessKeyEnv: "KEY", SecretKeyEnv: "SECRET"},
		Sources: map[string]any{"jobs": &src},
		Env:     func(string) (string, bool) { return "test", true }, Snapshots: b.snaps,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.poll = 0
	return s
}

func (b *bed) bench() backendtest.Bench {
	return backendtest.Bench{
		Queue: "jobs",
		Open:  func(t testing.TB) backends.Store { return b.open(t) },
		Kill:  b.kill, Revive: b.revive, KillAgain: b.killAgain, Remove: func(t testing.TB, id string) { b.pick(t, b.Dead, id) },
		Ready: b.ready, Take: b.take,
		Slow:     !b.Dead.Server.ExactCounts, // local-aws-sqs answers a receive by a timer
		OtherIDs: []string{strings.Repeat("x", 600), "a\x00b"},
		Facts: backendtest.Facts{Reason: true, Enqueued: true, Job: true, KeepsBytes: true, Patches: true, MayDoubt: true,
			AnyMade: !b.Dead.Server.ExactCounts}, // local-aws-sqs counts the giving back of a message too
	}
}

// kill puts letters straight among the dead.
func (b *bed) kill(t testing.TB, letters []backendtest.Letter) []string {
	t.Helper()
	some := make([]sqstest.Letter, len(letters))
	for i, l := range letters {
		some[i] = sqstest.Letter{Body: string(l.Body), Attributes: map[string]types.MessageAttributeValue{
			"error": {DataType: ptr("String"), StringValue: ptr(l.Error)}, "job": {DataType: ptr("String"), StringValue: ptr(l.Job)},
		}}
		if b.fifo {
			some[i].Group = rand.Text()
		}
	}
	ids := b.Dead.Send(t, some...)
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, id := range ids {
		b.died[id] = some[i]
	}
	return ids
}

// revive lets somebody else send a letter and delete it.
func (b *bed) revive(t testing.TB, id string) {
	t.Helper()
	b.pick(t, b.Dead, id)
	b.Source.Send(t, b.died[id])
}

// killAgain takes a revived letter back to the dead; its id is another one then.
func (b *bed) killAgain(t testing.TB, id string) {
	t.Helper()
	for _, m := range b.look(t, b.Source) {
		if *m.Body == b.died[id].Body {
			b.pick(t, b.Source, *m.MessageId)
			b.Dead.Send(t, b.died[id])
			return
		}
	}
	t.Fatalf("the letter %s is not in its source", id)
}

// pick deletes one message of a queue.
func (b *bed) pick(t testing.TB, q sqstest.Queue, id string) {
	t.Helper()
	all := b.receive(t, q)
	var one *types.Message
	for i := range all {
		if *all[i].MessageId == id {
			one = &all[i]
		}
	}
	if one == nil {
		t.Errorf("the message %s is not in %s", id, q.Name)
	} else if _, err := q.Client.DeleteMessage(t.Context(), &awssqs.DeleteMessageInput{QueueUrl: &q.URL, ReceiptHandle: one.ReceiptHandle}); err != nil {
		t.Errorf("deleting %s: %v", id, err)
	}
	b.back(t, q, all, id)
}

// look shows what can be received, and gives it back.
func (b *bed) look(t testing.TB, q sqstest.Queue) []types.Message {
	t.Helper()
	b.peek.Lock()
	defer b.peek.Unlock()
	all := b.receive(t, q)
	b.back(t, q, all, "")
	return all
}

func (b *bed) receive(t testing.TB, q sqstest.Queue) (all []types.Message) {
	for {
		some := q.Receive(t.Context(), t, 0)
		// Under load one of the servers has nothing to say though there is something.
		if len(some) == 0 && q.Count(t).Visible <= 0 {
			return all
		}
		all = append(all, some...)
	}
}

func (b *bed) back(t testing.TB, q sqstest.Queue, all []types.Message, but string) {
	for some := range slices.Chunk(all, most) {
		in := &awssqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.URL}
		for i, m := range some {
			if *m.MessageId != but {
				in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{Id: ptr(strconv.Itoa(i)), ReceiptHandle: m.ReceiptHandle})
			}
		}
		if len(in.Entries) == 0 {
			continue
		}
		if out, err := q.Client.ChangeMessageVisibilityBatch(t.Context(), in); err != nil || len(out.Failed) > 0 {
			t.Errorf("giving messages back: %+v, %v", out, err)
		}
	}
}

func (b *bed) ready(t testing.TB) (out []backendtest.Job) {
	t.Helper()
	for _, m := range b.look(t, b.Source) {
		out = append(out, backendtest.Job{ID: *m.MessageId, Body: []byte(*m.Body)})
	}
	return out
}

// take empties both queues: no later check needs what is dead.
func (b *bed) take(t testing.TB) {
	t.Helper()
	b.Source.Drain(t)
	b.Dead.Drain(t)
}

func TestStore(t *testing.T) {
	sqstest.Each(t, func(t *testing.T, server sqstest.Server) {
		for _, fifo := range []bool{false, true} {
			name := "standard"
			if fifo {
				name = "FIFO"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				backendtest.Run(t, newBed(t, server, sqstest.Options{FIFO: fifo}).bench())
			})
		}
	})
}

// snapshots is a folder of their own for a test.
func snapshots(t testing.TB) func(context.Context) (backends.Snapshots, error) {
	t.Helper()
	folder, err := durable.Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := snapshot.Open(t.Context(), folder, time.Now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close(); folder.Close() })
	return func(context.Context) (backends.Snapshots, error) { return db, nil }
}

// bodies counts bodies.
func bodies(all []types.Message) map[string]int { return sqstest.Bodies(all) }
