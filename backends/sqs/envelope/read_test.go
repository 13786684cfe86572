package envelope

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// told is a letter as one text, to compare: Texts cannot be compared with ==.
func told(l Letter) string {
	r := l.Reason
	dead := ""
	if !l.Dead.IsZero() {
		dead = l.Dead.Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%s\n%s %s %q %q %q\n%d %q %q %s\n%s\nnot patched: %s\nlist only: %s\ndrop %q", l.Producer,
		r.Source, r.Verdict, r.Code.Raw(), r.Message.Raw(), r.Stack.Raw(), l.Attempts, l.Job.Raw(), l.Group.Raw(), dead,
		l.Payload, l.WhyNot, l.ListOnly, l.Drop)
}

func TestRead(t *testing.T) {
	dead := time.Date(2026, 3, 1, 10, 0, 0, 5e8, time.UTC)
	none := reason("none", "", "", "")
	bill, sync := backends.Hostile("bill"), backends.Hostile("sync")
	const inStream = "The record says where in a stream the failed batch is, and does not hold its records."
	for name, c := range map[string]struct {
		in   Message
		want Letter
	}{
		"destination": {Message{Body: []byte(destination)}, Letter{
			Producer: LambdaDestination, Reason: reason("envelope", "AccountError", "no such account", "  File \"bill.py\", line 7\n    charge()"),
			Attempts: 3, Job: bill, Dead: dead, Payload: []byte(order)}},
		"destination, never run": {Message{Body: []byte(`{` + head + strings.Replace(request, "RetriesExhausted", "EventAgeExceeded", 1) + `"requestPayload": "x" }`)}, Letter{
			Producer: LambdaDestination, Reason: reason("envelope", "EventAgeExceeded", "", ""), Attempts: 3, Job: bill, Dead: dead, Payload: []byte(`"x"`)}},
		"destination without its event": {Message{Body: []byte(`{` + head + request + response + `}`)}, Letter{
			Producer: LambdaDestination, Reason: reason("envelope", "AccountError", "no such account", "  File \"bill.py\", line 7\n    charge()"),
			Attempts: 3, Job: bill, Dead: dead, Payload: []byte(`{` + head + request + response + `}`), ListOnly: noPayload}},
		"destination, event null": {Message{Body: []byte(`{` + head + request + `"requestPayload":null}`)}, Letter{
			Producer: LambdaDestination, Reason: reason("envelope", "RetriesExhausted", "", ""), Attempts: 3, Job: bill, Dead: dead,
			Payload: []byte(`{` + head + request + `"requestPayload":null}`), ListOnly: noPayload}},
		"destination of a pointer": {Message{Body: []byte(`{` + head + request + `"requestPayload":` + pointer + `}`)}, Letter{
			Producer: LambdaDestination, Reason: reason("envelope", "RetriesExhausted", "", ""), Attempts: 3, Job: bill, Dead: dead, Payload: []byte(pointer), WhyNot: inS3}},
		"dlq of a function": {Message{Body: []byte(event), Attributes: ofALambda()}, Letter{
			Producer: LambdaDLQ, Reason: reason("attribute", "200", "no such account", ""), Attempts: -1, Payload: []byte(event),
			Drop: []string{"ErrorCode", "ErrorMessage", "RequestID"}}},
		"dlq of a function, event looks like a record": {Message{Body: []byte(destination), Attributes: ofALambda()}, Letter{
			Producer: LambdaDLQ, Reason: reason("attribute", "200", "no such account", ""), Attempts: -1, Payload: []byte(destination),
			Drop: []string{"ErrorCode", "ErrorMessage", "RequestID"}}},
		"rule": {Message{Body: []byte(event), Attributes: ofARule()}, Letter{
			Producer: EventBridgeRule, Reason: reason("attribute", "NO_PERMISSIONS", "not authorised", ""), Attempts: 1, Payload: []byte(event),
			Job: backends.Hostile("to-mail"), Group: backends.Hostile("arn:aws:sqs:eu-west-1:111122223333:mail"),
			Drop: []string{"ERROR_CODE", "ERROR_MESSAGE", "RETRY_ATTEMPTS", "RULE_ARN", "TARGET_ARN"}}},
		"schedule": {Message{Body: []byte(order), Attributes: ofASchedule("false")}, Letter{
			Producer: EventBridgeScheduler, Reason: reason("attribute", "QueueDoesNotExist", "gone", ""), Attempts: 3, Payload: []byte(order),
			Job: backends.Hostile("nightly"), Group: backends.Hostile("arn:aws:scheduler:::aws-sdk:sqs:sendMessage"),
			Drop: []string{"ERROR_CODE", "ERROR_MESSAGE", "EXECUTION_ID", "EXHAUSTED_RETRY_CONDITION", "IS_PAYLOAD_TRUNCATED", "RETRY_ATTEMPTS", "SCHEDULED_TIME", "SCHEDULE_ARN", "TARGET_ARN"}}},
		"schedule, cut off": {Message{Body: []byte(`{"order`), Attributes: ofASchedule("true")}, Letter{
			Producer: EventBridgeScheduler, Reason: reason("attribute", "QueueDoesNotExist", "gone", ""), Attempts: 3, Payload: []byte(`{"order`),
			Job: backends.Hostile("nightly"), Group: backends.Hostile("arn:aws:scheduler:::aws-sdk:sqs:sendMessage"),
			ListOnly: "EventBridge Scheduler cut the payload off, or does not say that it is whole, so the target would get a part of it.",
			Drop:     []string{"ERROR_CODE", "ERROR_MESSAGE", "EXECUTION_ID", "EXHAUSTED_RETRY_CONDITION", "IS_PAYLOAD_TRUNCATED", "RETRY_ATTEMPTS", "SCHEDULED_TIME", "SCHEDULE_ARN", "TARGET_ARN"}}},
		"mapping": {Message{Body: []byte(mapping)}, Letter{
			Producer: StreamMapping, Reason: reason("envelope", "RetriesExhausted", "", ""), Attempts: 3, Job: bill, Dead: dead, Payload: []byte(mapping), ListOnly: inStream}},
		"pipe": {Message{Body: []byte(pipe)}, Letter{
			Producer: StreamMapping, Reason: reason("envelope", "RetryAttemptsExhausted", "", ""), Attempts: -1, Job: sync, Dead: dead, Payload: []byte(pipe), ListOnly: inStream}},
		"bus": {Message{Body: []byte(bus)}, Letter{
			Producer: EventBus, Reason: reason("envelope", "THROTTLING", "too many", ""), Attempts: 5, Payload: []byte(bus),
			Job: backends.Hostile("mailer"), Group: backends.Hostile("arn:aws:lambda:eu-west-1:111122223333:function:mail"),
			ListOnly: "The record of the event bus names the failed events and does not hold them."}},
		"sns": {Message{Body: []byte(notification)}, Letter{
			Producer: SNS, Reason: none, Attempts: -1, Job: backends.Hostile("orders"), Payload: []byte(notification),
			WhyNot: "SNS signed the payload, and a changed one no longer matches the signature"}},
		"sns, unsigned": {Message{Body: []byte(strings.Replace(notification, `"Signature"`, `"Sig"`, 1))}, Letter{
			Producer: SNS, Reason: none, Attempts: -1, Job: backends.Hostile("orders"), Payload: []byte(strings.Replace(notification, `"Signature"`, `"Sig"`, 1))}},
		"pointer":           {Message{Body: []byte(pointer)}, Letter{Producer: S3Pointer, Reason: none, Attempts: -1, Payload: []byte(pointer), WhyNot: inS3}},
		"pointer by size":   {Message{Body: []byte(`"?"`), Attributes: attributes("ExtendedPayloadSize:Number", "9")}, Letter{Producer: S3Pointer, Reason: none, Attempts: -1, Payload: []byte(`"?"`), WhyNot: inS3}},
		"pointer, old size": {Message{Body: []byte(`"?"`), Attributes: attributes("SQSLargePayloadSize:Number", "9")}, Letter{Producer: S3Pointer, Reason: none, Attempts: -1, Payload: []byte(`"?"`), WhyNot: inS3}},
		"plain":             {Message{Body: []byte(order), Attributes: attributes("x-error", "e")}, Letter{Producer: Plain, Reason: none, Attempts: -1, Payload: []byte(order)}},
		"no body":           {Message{}, Letter{Producer: Plain, Reason: none, Attempts: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Read(c.in, Options{})
			if told(got) != told(c.want) {
				t.Errorf("is\n%s\nwant\n%s", told(got), told(c.want))
			}
			if !within(got.Payload, c.in.Body) {
				t.Error("the payload is not a part of the body")
			}
		})
	}
}

// TestStays: what differs from an envelope in one thing is none.
func TestStays(t *testing.T) {
	for name, body := range map[string]string{
		"success":                strings.Replace(destination, "RetriesExhausted", "Success", 1),
		"other version":          strings.Replace(destination, `"1.0"`, `"1.1"`, 1),
		"version is a number":    strings.Replace(destination, `"1.0"`, `1.0`, 1),
		"no version":             strings.Replace(destination, `"version":"1.0",`, ``, 1),
		"no time":                strings.Replace(destination, `"timestamp":"2026-03-01T10:00:00.500Z",`, ``, 1),
		"no such time":           strings.Replace(destination, `2026-03-01T10`, `2026-13-01T10`, 1),
		"no request":             strings.Replace(destination, request, ``, 1),
		"request is a text":      strings.Replace(destination, request, `"requestContext":"`+strings.ReplaceAll(request[len(`"requestContext":`):len(request)-1], `"`, `\"`)+`",`, 1),
		"no request id":          strings.Replace(destination, `"requestId":"3f0c1c52",`, ``, 1),
		"no condition":           strings.Replace(destination, `"condition":"RetriesExhausted",`, ``, 1),
		"no function":            strings.Replace(destination, `arn:aws:lambda`, `arn:aws:lambada`, 1),
		"function without name":  strings.Replace(destination, `function:bill:$LATEST`, `function:`, 1),
		"count is a text":        strings.Replace(destination, `Count":3`, `Count":"3"`, 1),
		"count is huge":          strings.Replace(destination, `Count":3`, `Count":`+strings.Repeat("9", 4000), 1),
		"count is less than 0":   strings.Replace(destination, `Count":3`, `Count":-3`, 1),
		"count has an exponent":  strings.Replace(destination, `Count":3`, `Count":3e999999999`, 1),
		"capitals":               strings.Replace(destination, `"requestContext"`, `"RequestContext"`, 1),
		"payload twice":          strings.Replace(destination, `{`, `{"requestPayload":1,`, 1),
		"payload twice, escaped": strings.Replace(destination, `{`, `{"request\u0050ayload":1,`, 1),
		"condition twice":        strings.Replace(destination, `"condition":`, `"condition":"x","condition":`, 1),
		"payload and batch":      strings.Replace(destination, `{`, `{"KinesisBatchInfo":`+shard+`,`, 1),
		"more behind":            destination + `{}`,
		"not closed":             destination[:len(destination)-1],
		"in an array":            `[` + destination + `]`,
		"in a text":              `"` + strings.ReplaceAll(destination, `"`, `\"`) + `"`,
		"NUL":                    strings.Replace(destination, `bill.py`, "bill\x00py", 1),
		"NUL behind":             destination + "\x00",
		"not UTF-8":              strings.Replace(destination, `bill.py`, "bill\xffpy", 1),
		"byte order mark":        "\ufeff" + destination,
		"bomb in the payload":    strings.Replace(destination, order, strings.Repeat("[", 1<<19)+strings.Repeat("]", 1<<19), 1),
		"bomb":                   strings.Repeat(`{"a":`, 1<<18),
		"batch is a text":        strings.Replace(mapping, shard, `"x"`, 1),
		"pipe without its name":  strings.Replace(pipe, `pipe/sync`, `pipe/`, 1),
		"pipe without condition": strings.Replace(pipe, `,"condition":"RetryAttemptsExhausted"`, ``, 1),
		"bus, no failures":       strings.Replace(bus, `"failedMessages":[`, `"failed":[`, 1),
		"bus, text of failures":  strings.Replace(bus, `[{"eventId":"e1","timestamp":"2026-03-01T10:00:00Z"}]`, `"e1"`, 1),
		"bus, error is a number": strings.Replace(bus, `"too many"`, `7`, 1),
		"bus, no subscriber":     strings.Replace(bus, `"subscriberArn":"arn:`, `"subscriberArn":"`, 1),
		"sns, other type":        strings.Replace(notification, `Notification"`, `SubscriptionConfirmation"`, 1),
		"sns, message is JSON":   strings.Replace(notification, `"{\"order\":42}"`, `{"order":42}`, 1),
		"sns, not its topic":     strings.Replace(notification, `arn:aws:sns`, `arn:aws:sqs`, 1),
		"sns, no id":             strings.Replace(notification, `"MessageId"`, `"messageId"`, 1),
		"pointer, other class":   strings.Replace(pointer, `PayloadS3Pointer`, `PayloadPointer`, 1),
		"pointer and more":       strings.TrimSuffix(pointer, `]`) + `,1]`,
		"pointer alone":          `["software.amazon.payloadoffloading.PayloadS3Pointer"]`,
	} {
		t.Run(name, func(t *testing.T) {
			if body == destination || body == mapping || body == pipe || body == bus || body == notification || body == pointer {
				t.Fatal("the sample was not changed")
			}
			isPlain(t, Message{Body: []byte(body)})
		})
	}
}

// TestAttributesStay: an attribute of an envelope is missing, is no text or of
// another type, or those of two producers are mixed.
func TestAttributesStay(t *testing.T) {
	for name, c := range map[string]struct {
		all  map[string]Attribute
		must []string
	}{
		"rule":     {ofARule(), ofRule},
		"schedule": {ofASchedule("false"), ofSchedule},
		"lambda":   {ofALambda(), ofLambda},
	} {
		for _, attribute := range c.must {
			for how, a := range map[string]Attribute{
				"binary": {Type: "Binary", Value: c.all[attribute].Value}, "empty": {Type: "String"}, "not UTF-8": {Type: "String", Value: []byte("\xff")},
			} {
				t.Run(name+"/"+attribute+"/"+how, func(t *testing.T) {
					isPlain(t, Message{Body: []byte(event), Attributes: with(c.all, attribute, a)})
				})
			}
			t.Run(name+"/"+attribute+"/missing", func(t *testing.T) {
				isPlain(t, Message{Body: []byte(event), Attributes: with(c.all, attribute, Attribute{})})
			})
		}
	}
	for name, all := range map[string]map[string]Attribute{
		"code is no number":    with(ofALambda(), "ErrorCode", Attribute{"Number", []byte("1e3")}),
		"code is a text":       with(ofALambda(), "ErrorCode", Attribute{"String", []byte("200")}),
		"rule of another kind": with(ofARule(), "RULE_ARN", Attribute{"String", []byte("arn:aws:sqs:eu-west-1:111122223333:rule/x")}),
		"no target":            with(ofARule(), "TARGET_ARN", Attribute{"String", []byte("mail")}),
		"rule and schedule":    with(ofASchedule("false"), "RULE_ARN", ofARule()["RULE_ARN"]),
		"schedule has no name": with(ofASchedule("false"), "SCHEDULE_ARN", Attribute{"String", []byte("arn:aws:scheduler:eu-west-1:111122223333:schedule/default/")}),
	} {
		t.Run(name, func(t *testing.T) { isPlain(t, Message{Body: []byte(event), Attributes: all}) })
	}
}

// with is a copy in which one attribute is another, or missing if that has no type.
func with(all map[string]Attribute, name string, a Attribute) map[string]Attribute {
	changed := map[string]Attribute{}
	for n, v := range all {
		changed[n] = v
	}
	changed[name] = a
	if a.Type == "" {
		delete(changed, name)
	}
	return changed
}

func isPlain(t *testing.T, m Message) {
	t.Helper()
	got, want := told(Read(m, Options{})), told(Letter{Producer: Plain, Reason: reason("none", "", "", ""), Attempts: -1, Payload: m.Body})
	if got != want {
		t.Errorf("%.200s\nwant\n%.200s", got, want)
	}
}

// TestMoved: what SQS moved here was a message of its source queue as it is.
func TestMoved(t *testing.T) {
	samples := map[string]Message{
		LambdaDestination: {Body: []byte(destination)}, StreamMapping: {Body: []byte(mapping)}, EventBus: {Body: []byte(bus)},
		EventBridgeRule:      {Body: []byte(event), Attributes: ofARule()},
		EventBridgeScheduler: {Body: []byte(event), Attributes: ofASchedule("true")},
		LambdaDLQ:            {Body: []byte(event), Attributes: ofALambda()},
		SNS:                  {Body: []byte(notification)}, S3Pointer: {Body: []byte(pointer)},
	}
	if len(samples) != len(Kinds()) {
		t.Fatal("a kind has no sample")
	}
	for kind, m := range samples {
		t.Run(kind, func(t *testing.T) {
			arrived := Read(m, Options{})
			if arrived.Producer != kind {
				t.Fatalf("it is taken for %s", arrived.Producer)
			}
			m.Moved = true
			l := Read(m, Options{})
			if string(l.Payload) != string(m.Body) || l.ListOnly != "" || l.Drop != nil || l.Reason.Source != "none" {
				t.Errorf("moved by SQS it is\n%s", told(l))
			}
			if l.WhyNot != arrived.WhyNot {
				t.Errorf("moved by SQS it may be patched: %q", l.WhyNot)
			}
			if pinned := Read(m, Options{Envelope: kind}); told(pinned) != told(arrived) {
				t.Errorf("pinned it is\n%s\nwant\n%s", told(pinned), told(arrived))
			}
		})
	}
}

// TestPinned: a policy names the one kind that may be taken, or none.
func TestPinned(t *testing.T) {
	record := Message{Body: []byte(destination)}
	if l := Read(record, Options{Envelope: None}); l.Producer != Plain || string(l.Payload) != destination || l.ListOnly != "" {
		t.Errorf("without envelopes it is\n%s", told(l))
	}
	for _, kind := range Kinds() {
		l := Read(record, Options{Envelope: kind})
		if kind == LambdaDestination {
			if l.Producer != kind || l.ListOnly != "" {
				t.Errorf("pinned it is\n%s", told(l))
			}
		} else if l.Producer != Plain || string(l.Payload) != destination || !strings.Contains(l.ListOnly, kind) {
			t.Errorf("with %s pinned it is\n%s", kind, told(l))
		}
	}
	for _, p := range []Message{{Body: []byte(pointer)}, {Body: []byte(`"?"`), Attributes: attributes("ExtendedPayloadSize:Number", "9")}} {
		for _, kind := range append(Kinds(), None) {
			l := Read(p, Options{Envelope: kind})
			if l.WhyNot != inS3 || (l.ListOnly == "") != (kind == None || kind == S3Pointer) {
				t.Errorf("with %s a pointer is\n%s", kind, told(l))
			}
		}
	}
}

func TestPointers(t *testing.T) {
	const object = `{"s3BucketName":"b","s3Key":"k"}`
	for _, class := range pointerClasses {
		for _, prefix := range []string{"", "awsv2.repackaged."} {
			for _, body := range []string{`["` + prefix + class + `",` + object + `]`, " [ \"" + prefix + class + "\" , " + object + "\n]\n"} {
				if l := Read(Message{Body: []byte(body)}, Options{}); l.Producer != S3Pointer || l.WhyNot != inS3 || string(l.Payload) != body {
					t.Errorf("%s is\n%s", body, told(l))
				}
			}
		}
	}
}

// TestNamed: the attributes that a policy names win, all together.
func TestNamed(t *testing.T) {
	o := Options{Message: "x-error", Code: "x-code", Stack: "x-stack", Job: "x-job"}
	m := Message{Body: []byte(destination), Attributes: attributes("x-code:Number.int", "17", "x-job:String.name", "mine")}
	l := Read(m, o)
	if want := reason("attribute", "17", "", ""); told(Letter{Reason: l.Reason}) != told(Letter{Reason: want}) || l.Job.Raw() != "mine" {
		t.Errorf("is\n%s", told(l))
	}
	if string(l.Payload) != order || l.Drop != nil || l.Producer != LambdaDestination {
		t.Errorf("the reason changed what is sent:\n%s", told(l))
	}
	m.Attributes = attributes("x-error:Binary", "secret", "x-stack:Binary.x", "secret", "x-job:Binary", "secret")
	if l := Read(m, o); l.Reason.Source != "envelope" || l.Job.Raw() != "bill" {
		t.Errorf("bytes count as text:\n%s", told(l))
	}
}

func TestStacks(t *testing.T) {
	for in, want := range map[string]string{
		`"a\nb"`:                      "a\nb",
		`["a\r\n","b"]`:               "a\nb",
		`[["f.py",7,"go","x()"],"b"]`: "f.py 7 go x()\nb",
		`[]`:                          "", `{}`: "", `null`: "", `7`: "", `[{"a":1},"b"]`: "b", `[[["a"]],"b",-1.5]`: "b\n-1.5",
		`["\ud800"]`: "\ufffd",
	} {
		for _, name := range []string{"stackTrace", "trace"} {
			body := `{` + head + request + `"requestPayload":1,"responsePayload":{"` + name + `":` + in + `}}`
			if l := Read(Message{Body: []byte(body)}, Options{}); l.Producer != LambdaDestination || l.Reason.Stack.Raw() != want {
				t.Errorf("%s %s is %q, want %q", name, in, l.Reason.Stack.Raw(), want)
			}
		}
	}
}

// TestLarge: a text is cut at a character, and no size of anything stops Read.
func TestLarge(t *testing.T) {
	long := strings.Repeat("é", 400<<10)
	body := `{` + head + strings.Replace(request, "function:bill", "function:"+"b", 1) + `"requestPayload":"` + long[:1000] + `","responsePayload":{"errorMessage":"x` + long + `","errorType":"` + long[:3000] + `"}}`
	l := Read(Message{Body: []byte(body)}, Options{})
	if l.Producer != LambdaDestination {
		t.Fatalf("is %s", l.Producer)
	}
	for _, c := range []struct {
		text string
		max  int
	}{{l.Reason.Message.Raw(), maxProse}, {l.Reason.Code.Raw(), maxWord}} {
		if n := len(c.text); n > c.max || n < c.max-4 || !strings.HasSuffix(c.text, "é…") {
			t.Errorf("a text has %d bytes and ends with %q", n, c.text[max(0, n-6):])
		}
	}
	stack := `["` + strings.Repeat(`a","`, 200<<10) + `"]`
	l = Read(Message{Body: []byte(strings.Replace(destination, `["  File \"bill.py\", line 7\n","    charge()\n"]`, stack, 1))}, Options{})
	if n := strings.Count(l.Reason.Stack.Raw(), "\n"); n != maxLines-1 {
		t.Errorf("a stack has %d line ends", n)
	}
	names := `{` + strings.Repeat(`"a":1,`, 160<<10) + destination[1:]
	if l := Read(Message{Body: []byte(names)}, Options{}); string(l.Payload) != order {
		t.Errorf("among many names it is %s", l.Producer)
	}
}

// TestPayloadBytes: whatever JSON the event is, its bytes are sent as they are.
func TestPayloadBytes(t *testing.T) {
	for _, payload := range []string{
		`1`, `-0.00`, `1e999999`, strings.Repeat("7", 5000), `""`, `"\ud800 \u0000 \/"`, `[]`, "{ \"a\" :\t1 }", `{"a":1,"a":2}`, `{"\ud800":1,"\udfff":2}`, `true`, destination, mapping,
		strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
	} {
		for _, space := range []string{"", " \r\n\t"} {
			body := strings.Replace(destination, order, space+payload+space, 1)
			l := Read(Message{Body: []byte(body)}, Options{})
			if l.Producer != LambdaDestination || string(l.Payload) != payload {
				t.Errorf("%.60q is %.60q from %s", payload, l.Payload, l.Producer)
			}
		}
	}
}
