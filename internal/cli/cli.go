package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/nearest"
)

// Program is what main hands over.
type Program struct {
	Drivers map[string]backends.Driver // by kind, as `type:` names them in a policy
	Version string                     // of a release; empty: what the build knows
}

// app is one call of the program.
type app struct {
	Program
	*ui
	stdin      *os.File
	stdout     *os.File
	env        func(string) (string, bool)
	policyFile string
	as         string // who a person says to be; "" means the operating-system user
	json       bool
}

// Main runs the command that the process was started with and returns its exit
// code. Ctrl-C and SIGTERM end a command cleanly; a second one ends it at once.
func Main(p Program) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	noColour := os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
	a := &app{
		Program: p,
		ui:      newUI(os.Stdin, os.Stdout, os.Stderr, noColour),
		stdin:   os.Stdin,
		stdout:  os.Stdout,
		env:     os.LookupEnv,
	}
	return a.report(a.dispatch(ctx, os.Args[1:]))
}

func (a *app) dispatch(ctx context.Context, words []string) error {
	if len(words) == 0 {
		a.printOverview(a.err)
		return errSaid(exitUse)
	}
	switch words[0] {
	case "-h", "-help", "--help":
		words[0] = "help"
	case "-version", "--version":
		words[0] = "version"
	}
	table := commands()
	c, name, rest := find(table, words)
	if c == nil {
		return unknownCommand(table, "", words[0])
	}
	switch {
	case c.raw != nil:
		return c.raw(ctx, a, rest)
	case c.setup != nil:
		return c.run(ctx, a, name, rest)
	}
	return a.incomplete(c, name, rest)
}

// incomplete answers a command that needs another word, as `audit` does.
func (a *app) incomplete(c *command, name string, rest []string) error {
	if len(rest) > 0 && isHelp(rest[0]) {
		a.printHelp(c, name)
		return nil
	}
	if len(rest) > 0 {
		return unknownCommand(c.subs, name, rest[0])
	}
	return wrongUse("%s needs one of: %s", name, strings.Join(names(c.subs), ", ")).hint("%s help %s", program, name)
}

func isHelp(word string) bool { return word == "-h" || word == "-help" || word == "--help" }

func unknownCommand(table []command, under, word string) error {
	f := wrongUse("there is no command %s", quoted(strings.TrimSpace(under+" "+word)))
	if near := nearest.Word(word, names(table)); near != "" {
		return f.hint("did you mean %s?", strings.TrimSpace(program+" "+strings.TrimSpace(under+" "+near)))
	}
	return f.hint("%s help lists the commands", program)
}

func names(table []command) []string {
	var out []string
	for _, c := range table {
		if !c.hidden {
			out = append(out, c.name)
		}
	}
	return out
}

func quoted(s string) string { return strconv.QuoteToGraphic(oneLine(s)) }

// interrupted says whether an error is Ctrl-C's doing.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled))
}
