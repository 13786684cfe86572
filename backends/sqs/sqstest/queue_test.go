package sqstest_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/redrive-mcp/redrive-mcp/backends/sqs/sqstest"
)

// TestDie: what died is among the dead with its id, and nothing is left behind.
func TestDie(t *testing.T) {
	for _, o := range []sqstest.Options{{}, {MaxReceive: 3}, {FIFO: true}, {FIFO: true, MaxReceive: 2}} {
		t.Run(fmt.Sprintf("fifo=%v,max=%d", o.FIFO, o.MaxReceive), func(t *testing.T) {
			sqstest.Each(t, func(t *testing.T, s sqstest.Server) {
				p := s.Pair(t, o)
				letters := sqstest.Numbered(45)
				for i := range letters {
					if letters[i].Body += strings.Repeat(" ", i); o.FIFO {
						letters[i].Group = fmt.Sprint("g", i%7)
					}
				}
				ids := p.Die(t, letters...)
				if left := p.Source.Count(t); left.All() != 0 {
					t.Errorf("in the source are left %+v", left)
				}
				dead := p.Dead.Drain(t)
				slices.Sort(ids)
				if got := sqstest.IDs(dead); !slices.Equal(got, ids) {
					t.Errorf("%d letters died with ids %v,\n%d are dead with ids %v", len(ids), ids, len(got), got)
				}
				same(t, dead, letters)
			})
		})
	}
}

// TestSend: letters arrive whole, whatever their size, one time each.
func TestSend(t *testing.T) {
	kind, text, number, bytes := "String", "é", "Number.int", "Binary"
	sqstest.Each(t, func(t *testing.T, s sqstest.Server) {
		for _, fifo := range []bool{false, true} {
			q := s.Pair(t, sqstest.Options{FIFO: fifo}).Source
			letters := append(sqstest.Numbered(201), sqstest.Letter{Body: strings.Repeat("x", 1<<20)}, sqstest.Letter{Body: strings.Repeat("y", 600<<10)},
				sqstest.Letter{Body: strings.Repeat("z", 600<<10)}, sqstest.Letter{Body: "attributes", Attributes: map[string]types.MessageAttributeValue{
					"a": {DataType: &kind, StringValue: &text}, "b": {DataType: &number, StringValue: ptr("12345678901234567890")}, "c": {DataType: &bytes, BinaryValue: []byte{0, 255}}}})
			for i := range letters {
				letters[i].Group = fmt.Sprint("g", i%20)
			}
			q.Send(t, letters...)
			got := q.Drain(t)
			same(t, got, letters)
			for _, m := range got {
				if *m.Body == "attributes" && (len(m.MessageAttributes) != 3 || string(m.MessageAttributes["c"].BinaryValue) != "\x00\xff" || *m.MessageAttributes["b"].DataType != number) {
					t.Errorf("attributes arrived as %v", m.MessageAttributes)
				}
			}
		}
	})
}

// TestSendAgain: sending the same letters again is no duplicate to a FIFO queue.
func TestSendAgain(t *testing.T) {
	sqstest.Each(t, func(t *testing.T, s sqstest.Server) {
		q := s.Create(t, map[string]string{"FifoQueue": "true"})
		q.Fill(t, 5)
		q.Fill(t, 5)
		if got := q.Drain(t); len(got) != 10 {
			t.Errorf("%d messages of 10", len(got))
		}
	})
}

// TestDrainWaits: a message in flight is waited for.
func TestDrainWaits(t *testing.T) {
	sqstest.Each(t, func(t *testing.T, s sqstest.Server) {
		q := s.Create(t, map[string]string{"VisibilityTimeout": "1"})
		q.Fill(t, 3)
		if _, err := q.Client.ReceiveMessage(t.Context(), receive(q, 10)); err != nil {
			t.Fatal(err)
		}
		if got := q.Drain(t); len(got) != 3 {
			t.Errorf("%d messages of 3", len(got))
		}
	})
}

// TestCount: what is in flight is not visible, on either server.
func TestCount(t *testing.T) {
	sqstest.Each(t, func(t *testing.T, s sqstest.Server) {
		q := s.Create(t, nil)
		q.Fill(t, 3)
		one(t, q)
		if got, want := q.Count(t), (sqstest.Count{Visible: 2, InFlight: 1}); got != want {
			t.Errorf("counted %+v, want %+v", got, want)
		}
	})
}

// TestMove: the bare mover moves each message once, whole.
func TestMove(t *testing.T) {
	sqstest.Each(t, func(t *testing.T, s sqstest.Server) {
		for _, fifo := range []bool{false, true} {
			p := s.Pair(t, sqstest.Options{FIFO: fifo})
			letters := sqstest.Numbered(95)
			p.Dead.Send(t, letters...)
			if moved := sqstest.Move(t, p.Dead, p.Source, 1); moved != len(letters) || p.Dead.Count(t).All() != 0 {
				t.Errorf("%d of %d moved, left are %+v", moved, len(letters), p.Dead.Count(t))
			}
			same(t, p.Source.Drain(t), letters)
		}
	})
}

// TestGone: a queue goes with its test.
func TestGone(t *testing.T) {
	sqstest.Each(t, func(t *testing.T, s sqstest.Server) {
		var q sqstest.Queue
		t.Run("makes one", func(t *testing.T) { q = s.Create(t, nil) })
		if _, err := s.Client(t).ReceiveMessage(t.Context(), receive(q, 1)); err == nil || !strings.Contains(err.Error(), "QueueDoesNotExist") && !strings.Contains(err.Error(), "NonExistentQueue") {
			t.Errorf("receiving from a deleted queue: %v", err)
		}
	})
}

// same fails unless the messages are the letters, each once.
func same(t *testing.T, got []types.Message, letters []sqstest.Letter) {
	t.Helper()
	want := map[string]int{}
	for _, l := range letters {
		want[l.Body]++
	}
	if have := sqstest.Bodies(got); !maps.Equal(have, want) {
		t.Errorf("%d messages with %d different bodies, want %d with %d", len(got), len(have), len(letters), len(want))
	}
}
