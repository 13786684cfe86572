package envelope

import (
	"encoding/json"
	"slices"
	"testing"
	"unicode/utf8"
	"unsafe"
)

// within reports whether a part lies in the memory of the whole.
func within(part, whole []byte) bool {
	if len(part) == 0 {
		return len(whole) == 0
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(whole)))
	return at < uintptr(len(whole)) && at+uintptr(len(part)) <= uintptr(len(whole))
}

func FuzzRead(f *testing.F) {
	for _, body := range []string{destination, mapping, pipe, bus, notification, pointer, event, order, "", "{", `{"requestPayload":1,"requestPayload":2}`} {
		f.Add(body, "", byte(0))
		f.Add(body, "lambda", byte(1))
	}
	f.Add(event, "rule", byte(0))
	f.Add(event, "schedule", byte(2))
	f.Fuzz(func(t *testing.T, text, attrs string, how byte) {
		m := Message{Body: []byte(text), Moved: how&1 != 0, Attributes: map[string]map[string]Attribute{
			"rule": ofARule(), "schedule": ofASchedule("true"), "lambda": ofALambda(),
		}[attrs]}
		options := append(Kinds(), "", None)
		o := Options{Envelope: options[int(how>>1)%len(options)], Message: "mine", Code: attrs}
		l := Read(m, o)
		check(t, m, o, l)
		if string(m.Body) != text {
			t.Error("the body was changed")
		}
	})
}

// check holds a letter against what must be true of each.
func check(t *testing.T, m Message, o Options, l Letter) {
	if !within(l.Payload, m.Body) {
		t.Error("the payload is not a part of the body")
	}
	if l.Producer != LambdaDestination && len(l.Payload) != len(m.Body) {
		t.Errorf("the payload of %s is not the body", l.Producer)
	}
	if l.Producer == LambdaDestination && l.ListOnly == "" {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(m.Body, &members); err != nil || string(members["requestPayload"]) != string(l.Payload) {
			t.Errorf("the payload is %q, and by another decoder %q (%v)", l.Payload, members["requestPayload"], err)
		}
	}
	if (l.Producer == StreamMapping || l.Producer == EventBus) && l.ListOnly == "" {
		t.Errorf("%s can be redriven", l.Producer)
	}
	if m.Moved && o.Envelope == "" && (l.Drop != nil || l.ListOnly != "" || len(l.Payload) != len(m.Body)) {
		t.Error("something was taken off a message that SQS moved")
	}
	if !slices.Contains(append(Kinds(), Plain), l.Producer) || l.Reason.Verdict != "unknown" || !slices.Contains([]string{"none", "attribute", "envelope"}, l.Reason.Source) {
		t.Errorf("odd: %s", told(l))
	}
	if o.Envelope != "" && l.Producer != Plain && l.Producer != o.Envelope && l.Producer != S3Pointer {
		t.Errorf("%s was taken, though the policy says %s", l.Producer, o.Envelope)
	}
	for _, text := range []string{l.Reason.Message.Raw(), l.Reason.Stack.Raw(), l.Reason.Code.Raw(), l.Job.Raw(), l.Group.Raw()} {
		if len(text) > maxProse || !utf8.ValidString(text) {
			t.Errorf("a text has %d bytes, valid: %t", len(text), utf8.ValidString(text))
		}
	}
	for _, name := range l.Drop {
		if !m.has(name) {
			t.Errorf("%s is dropped and not there", name)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for name, body := range map[string][]byte{"destination": []byte(destination), "plain": []byte(order), "1MiB": large(), "bomb": bomb()} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				Read(Message{Body: body}, Options{})
			}
		})
	}
}

// large is a body of the largest size that has many small objects.
func large() []byte {
	body := []byte(`{"all":[`)
	for len(body) < 1<<20-len(order)-3 {
		body = append(append(body, order...), ',')
	}
	return append(body, "0]}"...)
}

func bomb() []byte { return slices.Repeat([]byte(`{"a":`), 1<<20/5) }
