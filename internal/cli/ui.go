package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// The rules of this user interface:
//
//   - What was asked for goes to standard output. Everything else (warnings,
//     progress, questions, what to type next) goes to standard error, so that a
//     pipe carries results only.
//   - An error is one line, "redrive-mcp: error: …", then "hint: …" lines that
//     name the next step. Neither starts with a capital nor ends with a full stop.
//   - Colour and progress only on a terminal, colour never with NO_COLOR set.
//     Nothing is told by colour alone.
//   - Tables fit the terminal's width; into a pipe they are never cut. Numbers
//     are aligned to the right. Times are ages ("3 h ago"); --json has them exact.
//   - Text that came from a store is printed sanitised and in one line per cell.
//     JSON escapes what must not reach a terminal, so it stays exact.
//   - A question is asked, on the terminal itself, only if standard input is one.
//     Otherwise a flag must have answered it.
//   - Nothing secret is taken as a flag or printed.

const program = "redrive-mcp"

// ui is where a command reads and writes.
type ui struct {
	in       *bufio.Reader
	out, err io.Writer
	outTerm  bool // out is a terminal
	errTerm  bool
	inTerm   bool
	colour   bool
	width    int // of the terminal behind out; 0 if it is none
	now      func() time.Time
}

func newUI(in, out, errOut *os.File, noColour bool) *ui {
	u := &ui{in: bufio.NewReader(in), out: out, err: errOut, now: time.Now}
	u.inTerm = term.IsTerminal(int(in.Fd()))
	u.outTerm = term.IsTerminal(int(out.Fd()))
	u.errTerm = term.IsTerminal(int(errOut.Fd()))
	u.colour = !noColour
	if w, _, err := term.GetSize(int(out.Fd())); err == nil && u.outTerm {
		u.width = w
	}
	return u
}

// printf writes a result.
func (u *ui) printf(format string, args ...any) { fmt.Fprintf(u.out, format, args...) }

// notef writes a line beside the results.
func (u *ui) notef(format string, args ...any) { fmt.Fprintf(u.err, format+"\n", args...) }

func (u *ui) warningf(format string, args ...any) {
	u.notef("%s %s", u.onErr(yellow, program+": warning:"), fmt.Sprintf(format, args...))
}

func (u *ui) errorf(format string, args ...any) {
	u.notef("%s %s", u.onErr(red, program+": error:"), fmt.Sprintf(format, args...))
}

func (u *ui) hintf(format string, args ...any) {
	u.notef("%s %s", u.onErr(dim, "hint:"), fmt.Sprintf(format, args...))
}

// nextf says what to type next.
func (u *ui) nextf(format string, args ...any) {
	u.notef("%s %s", u.onErr(dim, "next:"), fmt.Sprintf(format, args...))
}

// heading writes a title over a part of a result.
func (u *ui) heading(title string) { u.printf("\n%s\n", u.onOut(bold, title)) }

// ask puts a question and reads one line.
func (u *ui) ask(question string) (string, error) {
	u.toTerminal(question + " ")
	line, err := u.in.ReadString('\n')
	if err != nil && line == "" {
		return "", fmt.Errorf("reading the answer: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// toTerminal writes to the terminal wherever standard error goes.
func (u *ui) toTerminal(text string) {
	tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		fmt.Fprint(u.err, text)
		return
	}
	defer tty.Close()
	fmt.Fprint(tty, text)
}

// Styles are the numbers of ANSI's "select graphic rendition".
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "1;31"
	green  style = "32"
	yellow style = "33"
)

func (u *ui) onOut(s style, text string) string { return paint(u.outTerm && u.colour, s, text) }
func (u *ui) onErr(s style, text string) string { return paint(u.errTerm && u.colour, s, text) }

func paint(on bool, s style, text string) string {
	if !on || s == plain {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// oneLine makes text safe to print within a line.
func oneLine(s string) string {
	s = backends.Sanitise(s)
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(s)
}

// block makes text safe to print as lines of its own.
func block(s string) string { return strings.TrimRight(backends.Sanitise(s), "\n") }
