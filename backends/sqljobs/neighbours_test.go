package sqljobs_test

import (
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
)

// TestNeighbours: two backends of one policy that lead to the same table, one
// of them for the whole of it, are named to the operator; others are not.
func TestNeighbours(t *testing.T) {
	f := newFile(t, sqliteDDL)
	whole := strings.Replace(sqliteMapping, "  queue: queue\n", "", 1)
	for _, c := range []struct {
		first, second string
		queues        [2]string
		warns         bool
	}{
		{sqliteMapping, whole, [2]string{"default", ""}, true},
		{whole, sqliteMapping, [2]string{"", "default"}, true},
		{sqliteMapping, sqliteMapping, [2]string{"default", "mail"}, false},
	} {
		d := sqljobs.SQLite()
		open := func(name, section, queue string) backends.Store {
			config := f.config(t, section, map[string]string{"jobs": queue})
			config.Name = name
			st, err := d.Open(config)
			must(t, err)
			t.Cleanup(func() { st.Close() })
			return st
		}
		first, second := open("one", c.first, c.queues[0]), open("two", c.second, c.queues[1])
		if warnings, err := checkUp(t, first); err != nil || strings.Contains(warnings, "backends") {
			t.Errorf("the first alone: %s (%v)", warnings, err)
		}
		warnings, err := checkUp(t, second)
		if err != nil || strings.Contains(warnings, "backends one and two lead to one table") != c.warns {
			t.Errorf("queues %q: %s (%v)", c.queues, warnings, err)
		}
	}
}
