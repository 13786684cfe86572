package stdio

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"
)

// Call is what a handler knows of the message it serves, and what it tells the
// transport about it.
type Call struct {
	// Arguments are the tool's arguments, byte for byte as the client sent them;
	// nil where there are none.
	Arguments jsontext.Value

	recorded  bool
	refused   string
	badParams bool
	report    func(error) string
}

type callKey struct{}

func withCall(ctx context.Context, c *Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// CallFrom is the call that a handler's context serves. Outside of a handler it
// is an empty one.
func CallFrom(ctx context.Context) *Call {
	if c, ok := ctx.Value(callKey{}).(*Call); ok {
		return c
	}
	return &Call{}
}

// Recorded says that somebody else records this message from here on.
func (c *Call) Recorded() { c.recorded = true }

// Refused says why the message is not served, in our own words, for the record.
func (c *Call) Refused(why string) { c.refused = why }

// BadParams makes an error of the handler one of the client's parameters
// (-32602) and not an internal one.
func (c *Call) BadParams(why string) { c.refused, c.badParams = why, true }

// Fail reports an error that the client must not read and gives the sentence
// that it may: "internal error" and a number, by which the error is found again.
func (c *Call) Fail(err error) string {
	if c.report == nil {
		return "internal error"
	}
	return c.report(err)
}
