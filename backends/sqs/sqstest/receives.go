package sqstest

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// again ends the receipt handle of a message's second delivery, which the server
// does not know.
const again = "~again"

func realHandle(handle string) string { return strings.TrimSuffix(handle, again) }

// realHandles is what goes to the server: calls that take a handle name the
// first delivery.
func realHandles(x *Exchange) []byte {
	if deletes(x.Action) || strings.HasPrefix(x.Action, "ChangeMessageVisibility") {
		return bytes.ReplaceAll(x.Body, []byte(again+`"`), []byte(`"`))
	}
	return x.Body
}

// Twice delivers the first message of an answer a second time in the same
// answer, with a receipt handle of its own. An answer to a client that wants one
// message stays as it is.
func Twice() Fault {
	return func(x *Exchange, next func() *Answer) *Answer {
		most := x.most()
		if most < 2 {
			return next()
		}
		x.ask(most - 1)
		return onMessages(next(), func(all []rawObj) []rawObj { return append(all, second(all[0])) })
	}
}

// Again delivers the first message of an answer once more with the queue's next
// answer, with another receipt handle.
func Again() Fault {
	return func(x *Exchange, next func() *Answer) *Answer {
		return onMessages(next(), func(all []rawObj) []rawObj {
			x.proxy.mu.Lock()
			defer x.proxy.mu.Unlock()
			x.proxy.owed[x.Queue] = append(x.proxy.owed[x.Queue], second(all[0]))
			return all
		})
	}
}

func second(message rawObj) rawObj {
	copied := maps.Clone(message)
	copied.set("ReceiptHandle", message.word("ReceiptHandle")+again)
	return copied
}

// Reverse turns an answer's messages round.
func Reverse() Fault {
	return func(_ *Exchange, next func() *Answer) *Answer {
		return onMessages(next(), func(all []rawObj) []rawObj { slices.Reverse(all); return all })
	}
}

// Short lets the server give so many messages at most, whatever was asked for.
func Short(most int) Fault {
	return func(x *Exchange, next func() *Answer) *Answer {
		x.ask(min(most, x.most()))
		return next()
	}
}

// Empty answers that there is no message, and does not ask the server.
func Empty() Fault {
	return func(*Exchange, func() *Answer) *Answer { return noMessages() }
}

func noMessages() *Answer {
	return &Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: []byte("{}")}
}

// most is how many messages a receive asks for.
func (x *Exchange) most() int {
	var in struct{ MaxNumberOfMessages int }
	json.Unmarshal(x.Body, &in)
	return max(in.MaxNumberOfMessages, 1)
}

func (x *Exchange) ask(most int) {
	in := parse(x.Body)
	in.set("MaxNumberOfMessages", most)
	x.Body = in.text()
}

// onMessages changes what an answer delivers, if it delivers anything.
func onMessages(answer *Answer, change func([]rawObj) []rawObj) *Answer {
	if answer == nil || answer.Status != http.StatusOK {
		return answer
	}
	out := parse(answer.Body)
	if all := out.list("Messages"); len(all) > 0 {
		out.set("Messages", change(all))
		answer.Body = out.text()
	}
	return answer
}

// ask is the end of a call: the server, and what the proxy still owes a queue.
func (p *Proxy) ask(x *Exchange) *Answer {
	var owed []rawObj
	if x.Action == "ReceiveMessage" {
		p.mu.Lock()
		n := min(len(p.owed[x.Queue]), x.most())
		owed = p.owed[x.Queue][:n:n]
		p.owed[x.Queue] = p.owed[x.Queue][n:]
		p.mu.Unlock()
	}
	if len(owed) == 0 {
		return p.forward(x)
	}
	answer := noMessages()
	if rest := x.most() - len(owed); rest > 0 {
		x.ask(rest)
		if answer = p.forward(x); answer == nil || answer.Status != http.StatusOK {
			return answer
		}
	}
	out := parse(answer.Body)
	out.set("Messages", append(owed, out.list("Messages")...))
	answer.Body = out.text()
	return answer
}
