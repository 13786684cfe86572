package sqstest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
)

// rawObj is a JSON object whose values stay as they were written.
type rawObj map[string]json.RawMessage

func parse(text []byte) rawObj {
	var o rawObj
	json.Unmarshal(text, &o)
	return o
}

func (o rawObj) text() []byte {
	text, _ := json.Marshal(o)
	return text
}

func (o rawObj) list(name string) []rawObj {
	var all []rawObj
	json.Unmarshal(o[name], &all)
	return all
}

func (o rawObj) set(name string, value any) { o[name], _ = json.Marshal(value) }

func (o rawObj) word(name string) string {
	var s string
	json.Unmarshal(o[name], &s)
	return s
}

func (o rawObj) entry() Entry {
	return Entry{o.word("Id"), o.word("MessageBody"), o.word("ReceiptHandle")}
}

// Entry is one of a batch, which sends a body or names a receipt handle.
type Entry struct{ Id, MessageBody, ReceiptHandle string }

// At picks entries of a batch by their places, from 0.
func At(places ...int) func(int, Entry) bool {
	return func(i int, _ Entry) bool { return slices.Contains(places, i) }
}

// WithBody picks the entries that send a body.
func WithBody(body string) func(int, Entry) bool {
	return func(_ int, e Entry) bool { return e.MessageBody == body }
}

// FailEntries takes the picked entries out of a batch, and answers that they
// failed. The server sees the rest.
func FailEntries(code string, senderFault bool, pick func(int, Entry) bool) Fault {
	return func(x *Exchange, next func() *Answer) *Answer {
		in := parse(x.Body)
		var kept, failed []rawObj
		for i, e := range in.list("Entries") {
			if pick(i, e.entry()) {
				failed = append(failed, failedEntry(e, code, senderFault))
			} else {
				kept = append(kept, e)
			}
		}
		if len(failed) == 0 {
			return next()
		}
		answer := &Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: []byte("{}")}
		if len(kept) > 0 {
			in.set("Entries", kept)
			x.Body = in.text()
			answer = next()
		}
		if answer == nil || answer.Status != http.StatusOK {
			return answer
		}
		out := parse(answer.Body)
		out.set("Successful", append([]rawObj{}, out.list("Successful")...))
		out.set("Failed", append(out.list("Failed"), failed...))
		answer.Body = out.text()
		return answer
	}
}

// Disown lets the server do all of a batch, and answers that the picked entries
// failed, as a service may that cannot tell.
func Disown(code string, pick func(int, Entry) bool) Fault {
	return func(x *Exchange, next func() *Answer) *Answer {
		picked := map[string]bool{}
		for i, e := range parse(x.Body).list("Entries") {
			picked[e.word("Id")] = pick(i, e.entry())
		}
		answer := next()
		if answer == nil || answer.Status != http.StatusOK {
			return answer
		}
		out := parse(answer.Body)
		kept, failed := []rawObj{}, out.list("Failed")
		for _, e := range out.list("Successful") {
			if picked[e.word("Id")] {
				failed = append(failed, failedEntry(e, code, false))
			} else {
				kept = append(kept, e)
			}
		}
		out.set("Successful", kept)
		out.set("Failed", failed)
		answer.Body = out.text()
		return answer
	}
}

func failedEntry(e rawObj, code string, senderFault bool) rawObj {
	return rawObj{"Id": e["Id"], "Code": json.RawMessage(strconv.Quote(code)),
		"Message": json.RawMessage(`"the entry has failed"`), "SenderFault": json.RawMessage(strconv.FormatBool(senderFault))}
}
