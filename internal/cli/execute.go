package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// execute runs an approved request to its end, with a progress bar.
func (a *app) execute(ctx context.Context, p *gate.Person, asked gate.RequestResult) error {
	bar := progress{ui: a.ui}
	bar.request(asked)
	r, err := p.Run(ctx, asked.RequestID, bar.request)
	bar.clear()
	if err != nil {
		return a.cutShort(ctx, p, asked, err)
	}
	if !a.json {
		a.heading("run")
	}
	return a.printResult(ctx, *r)
}

// cutShort shows what a run that ended early did all the same. Where it was
// Ctrl-C that ended it, that is the whole story; else the error is told, too.
func (a *app) cutShort(ctx context.Context, p *gate.Person, asked gate.RequestResult, err error) error {
	s, showErr := p.Show(context.WithoutCancel(ctx), asked.RequestID, false)
	if showErr != nil {
		return err
	}
	switch now := s.Request.Status; {
	case now == statusApproved:
		return notBegun(asked.RequestID, err)
	case now == asked.Status && now != statusRunning:
		return err
	}
	if !a.json {
		a.heading("run")
	}
	said := a.printResult(ctx, s.Request)
	switch {
	case ctx.Err() != nil && said != nil:
		return said
	}
	return err
}

// notBegun is the error of a run that left an approved request as it was.
func notBegun(id string, err error) error {
	if !refusedAs(err, gate.CodeStopped) {
		return err
	}
	return fail(exitRefused, "%w", err).
		hint("the approval is recorded: %s resume, once it is safe, then %s run %s", program, program, oneLine(id))
}

// lostRace says whether another executor was faster: it runs the request, or has
// run it already.
func lostRace(err error) bool {
	return refusedAs(err, gate.CodeElsewhere) || refusedAs(err, gate.CodeNothing)
}

func refusedAs(err error, code gate.Code) bool {
	r, ok := errors.AsType[*gate.Refusal](err)
	return ok && r.Code == code
}

// progress draws one line on standard error, over and over, if that is a
// terminal.
type progress struct {
	*ui
	drawn int // characters on the line
}

const barWidth = 30

// draw shows how much of total is done.
func (p *progress) draw(done, total int64, what string) {
	if !p.errTerm || total <= 0 {
		return
	}
	full := int(min(done, total) * barWidth / total)
	line := fmt.Sprintf("[%s%s] %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), what)
	fmt.Fprintf(p.err, "\r%s%s", line, strings.Repeat(" ", max(0, p.drawn-len(line))))
	p.drawn = len(line)
}

// request shows how far a request is.
func (p *progress) request(r gate.RequestResult) {
	done := r.Sent + r.Skipped + r.Failed + r.Unknown
	p.draw(int64(done), int64(r.Messages), fmt.Sprintf("%s of %s, Ctrl-C stops between batches", number(done), number(r.Messages)))
}

// clear takes the line away.
func (p *progress) clear() {
	if p.drawn > 0 {
		fmt.Fprintf(p.err, "\r%s\r", strings.Repeat(" ", p.drawn))
		p.drawn = 0
	}
}
