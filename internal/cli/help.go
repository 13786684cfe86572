package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
)

const helpWidth = 79

func helpCommand() command {
	return command{
		name: "help", args: "[COMMAND] [SUB]", part: partMore,
		short:   "explain a command",
		long:    "Explains one command, or lists all of them. It opens nothing.",
		example: "redrive-mcp help approve\nredrive-mcp help audit verify",
		setup: func(a *app, f *flag.FlagSet) action {
			return func(_ context.Context, args []string) error { return a.help(args) }
		},
	}
}

func (a *app) help(words []string) error {
	if len(words) == 0 {
		a.printOverview(a.out)
		return nil
	}
	table := commands()
	c, name, rest := find(table, words)
	switch {
	case c == nil:
		return unknownCommand(table, "", words[0])
	case len(rest) > 0:
		return unknownCommand(c.subs, name, rest[0])
	}
	a.printHelp(c, name)
	return nil
}

// printOverview is the one screen of `help`.
func (a *app) printOverview(w io.Writer) {
	fmt.Fprintf(w, "%s: agents work a dead-letter queue; policy and people decide\n\n", program)
	fmt.Fprintf(w, "usage: %s COMMAND [ARGUMENTS] [--policy FILE] [--json]\n", program)
	part := ""
	for _, c := range commands() {
		if c.hidden {
			continue
		}
		if c.part != part {
			part = c.part
			fmt.Fprintf(w, "\n%s\n", part)
		}
		fmt.Fprintf(w, "  %-22s %s\n", strings.TrimSpace(c.name+" "+c.summary()), c.short)
	}
	fmt.Fprintf(w, "\n--policy FILE or REDRIVE_POLICY names the policy; people's commands also find\n")
	fmt.Fprintf(w, "./policy.yaml. Exit codes: 0 done, 1 failed, 2 wrong use, 3 refused, 4 nothing\n")
	fmt.Fprintf(w, "to do. `%s help COMMAND` explains one, with its flags and an example.\n", program)
}

// summary is what stands behind the name in the overview.
func (c *command) summary() string {
	if c.setup != nil {
		return c.args
	}
	return "…"
}

// printHelp explains one command.
func (a *app) printHelp(c *command, name string) {
	a.printf("%s %s: %s\n\nusage: %s", program, name, c.short, program)
	if c.setup == nil {
		a.printSubs(c, name)
		return
	}
	flags, _ := c.flagSet(a)
	hasFlags := false
	flags.VisitAll(func(*flag.Flag) { hasFlags = true })
	a.printf(" %s", strings.TrimSpace(name+" "+c.args))
	if hasFlags {
		a.printf(" [flags]")
	}
	a.printf("\n\n%s\n", strings.Join(wrap(c.long, helpWidth), "\n"))
	if hasFlags {
		a.printf("\nflags\n")
		flags.VisitAll(a.printFlag)
	}
	a.printf("\nexample\n")
	for line := range strings.SplitSeq(c.example, "\n") {
		a.printf("  %s\n", line)
	}
}

func (a *app) printSubs(c *command, name string) {
	a.printf(" %s SUBCOMMAND\n\n%s\n\n", name, strings.Join(wrap(c.long, helpWidth), "\n"))
	for _, sub := range c.subs {
		a.printf("  %-22s %s\n", strings.TrimSpace(sub.name+" "+sub.args), sub.short)
	}
}

const flagColumn = 22

func (a *app) printFlag(f *flag.Flag) {
	value, usage := flag.UnquoteUsage(f)
	left := dashed(f.Name)
	if value != "" {
		left += " " + value
	}
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" {
		usage += " (default " + f.DefValue + ")"
	}
	lines := wrap(usage, helpWidth-flagColumn-3)
	if len(left) > flagColumn {
		a.printf("  %s\n", left)
		left = ""
	}
	for _, line := range lines {
		a.printf("  %-*s %s\n", flagColumn, left, line)
		left = ""
	}
}

// dashed is a flag as it is typed.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}
