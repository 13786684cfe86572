package cli

import (
	"context"
	"errors"
	"flag"
	"io"
	"strings"
)

// command is one row of the table of commands.
type command struct {
	name    string
	args    string // as usage shows them: "QUEUE", "ID [FILE]"; also how many there may be
	short   string // one line
	long    string // what it does
	example string // lines to type, with "# " comments
	part    string // under which heading `help` lists it
	hidden  bool   // not for people
	setup   func(a *app, f *flag.FlagSet) action
	subs    []command

	// raw runs a command that reads its own words; it has no setup.
	raw func(ctx context.Context, a *app, words []string) error
}

// action runs a command whose flags are set.
type action func(ctx context.Context, args []string) error

// flagSet defines a command's flags.
func (c *command) flagSet(a *app) (*flag.FlagSet, action) {
	f := flag.NewFlagSet(c.name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	return f, c.setup(a, f)
}

// find is the command that words name, its full name, and the words after it.
func find(table []command, words []string) (c *command, name string, rest []string) {
	for i, word := range words {
		next := lookup(table, word)
		if next == nil {
			return c, name, words[i:]
		}
		c, table = next, next.subs
		name = strings.TrimSpace(name + " " + word)
		rest = words[i+1:]
		if len(table) == 0 {
			break
		}
	}
	return c, name, rest
}

func lookup(table []command, name string) *command {
	for i := range table {
		if table[i].name == name {
			return &table[i]
		}
	}
	return nil
}

// run parses flags, which may stand before, between and behind the arguments,
// and runs the command.
func (c *command) run(ctx context.Context, a *app, name string, words []string) error {
	flags, act := c.flagSet(a)
	args, err := parse(flags, words)
	if errors.Is(err, flag.ErrHelp) {
		a.printHelp(c, name)
		return err
	}
	if err == nil {
		err = c.arity(args)
	}
	if err != nil {
		return wrongUse("%s: %s", name, err).hint("%s help %s", program, name)
	}
	return act(ctx, args)
}

// parse collects what is no flag. Behind "--" nothing is.
func parse(f *flag.FlagSet, words []string) (args []string, err error) {
	for len(words) > 0 {
		if err := f.Parse(words); err != nil {
			return nil, flagError(err)
		}
		rest := f.Args()
		parsed := words[:len(words)-len(rest)]
		if len(parsed) > 0 && parsed[len(parsed)-1] == "--" {
			return append(args, rest...), nil
		}
		if len(rest) == 0 {
			break
		}
		args, words = append(args, rest[0]), rest[1:]
	}
	return args, nil
}

// flagError says what package flag says in this program's words.
func flagError(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		return errors.New("there is no flag " + dashed(strings.TrimPrefix(name, "-")))
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return errors.New(dashed(name) + " needs a value")
	}
	value, rest, _ := strings.Cut(text, " for flag -")
	name, why, _ := strings.Cut(rest, ": ")
	if text = value + " for " + dashed(name); why != "parse error" { // which says no more
		text += ": " + why
	}
	return errors.New(text)
}

// arity holds the number of arguments against the usage line.
func (c *command) arity(args []string) error {
	var least, most int
	for word := range strings.FieldsSeq(c.args) {
		most++
		if !strings.HasPrefix(word, "[") {
			least++
			if len(args) < least {
				return errors.New(word + " is missing")
			}
		}
	}
	if len(args) > most {
		return errors.New("unexpected argument " + quoted(args[most]))
	}
	return nil
}
