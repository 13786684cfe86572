package demo

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// width is how many characters of a sentence stand on one line.
const width = 100

// say prints one line of the story. After an error it prints nothing more.
func (s *story) say(format string, args ...any) {
	if s.said != nil {
		return
	}
	if _, err := fmt.Fprintf(s.Out, format+"\n", args...); err != nil {
		s.said = fmt.Errorf("telling the story: %w", err)
	}
}

// chapter begins a part.
func (s *story) chapter(format string, args ...any) {
	title := fmt.Sprintf(format, args...)
	if s.Color {
		title = "\x1b[1m" + title + "\x1b[0m"
	}
	if s.told {
		s.say("")
	}
	s.told = true
	s.say("%s", title)
}

// command names what a person types.
func (s *story) command(args ...string) { s.say("   $ redrive-mcp %s", strings.Join(args, " ")) }

// tool names what an agent calls.
func (s *story) tool(format string, args ...any) { s.say("   > "+format, args...) }

// quote prints what was answered, further in.
func (s *story) quote(text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		s.say("     %s", strings.TrimRight(line, " "))
	}
}

// wrap breaks a sentence at spaces so that each line fits, where it has spaces.
func wrap(sentence string) string {
	var out strings.Builder
	used := 0
	for word := range strings.FieldsSeq(sentence) {
		long := utf8.RuneCountInString(word)
		switch {
		case used == 0:
		case used+1+long > width:
			out.WriteByte('\n')
			used = 0
		default:
			out.WriteByte(' ')
			used++
		}
		out.WriteString(word)
		used += long
	}
	return out.String()
}

// several is "1 charge" or "3 charges".
func several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
