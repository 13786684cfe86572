package cli

import "strings"

// Usages are the usage lines of all commands that people may type.
func Usages() (out []string) {
	for _, c := range commands() {
		if c.hidden {
			continue
		}
		if c.setup != nil {
			out = append(out, strings.TrimSpace(c.name+" "+c.args))
		}
		for _, sub := range c.subs {
			if sub.hidden {
				continue
			}
			out = append(out, strings.TrimSpace(c.name+" "+sub.name+" "+sub.args))
		}
	}
	return out
}
