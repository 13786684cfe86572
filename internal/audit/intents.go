package audit

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"
)

// intents follows which items were about to be sent and for which of them no
// outcome was recorded. Its memory is bounded by how many these are.
type intents struct {
	open      map[string]*openIntent // by plan, else run, else operation
	recovered map[string]bool        // names of torn ends that a record tells of
}

type openIntent struct {
	plan, run string
	seq       uint64
	items     map[int]bool
}

func newIntents() *intents {
	return &intents{open: make(map[string]*openIntent), recovered: make(map[string]bool)}
}

// note takes in an intent, an outcome or a resolve record. A resumed plan has a
// new run, so the plan and the item's number tell which intent is answered.
func (in *intents) note(l *line) {
	key := l.text(keyPlan)
	if len(key) == 0 {
		key = l.text(keyRun)
	}
	if len(key) == 0 {
		key = l.text(keyOp)
	}
	if string(l.text(keyPhase)) == PhaseIntent {
		in.begin(string(key), l)
		return
	}
	open := in.open[string(key)]
	if open == nil {
		return
	}
	eachItem(l.vals[keyItems], func(n int) { delete(open.items, n) })
	if len(open.items) == 0 {
		delete(in.open, string(key))
	}
}

// begin adds the items of an intent. A plan is sent in batches, so there may be
// open items of earlier ones.
func (in *intents) begin(key string, l *line) {
	open := in.open[key]
	if open == nil {
		open = &openIntent{plan: string(l.text(keyPlan)), items: make(map[int]bool)}
		in.open[key] = open
	}
	open.run, open.seq = string(l.text(keyRun)), l.seq
	eachItem(l.vals[keyItems], func(n int) { open.items[n] = true })
	if len(open.items) == 0 {
		delete(in.open, key)
	}
}

// recovery remembers the file that a recovery record names.
func (in *intents) recovery(l *line) {
	d := decoder{l: l}
	for _, arg := range d.args() {
		if name, ok := arg.Value.(string); ok && arg.Key == "file" {
			in.recovered[name] = true
		}
	}
}

// dangling lists what is open, oldest first.
func (in *intents) dangling() []Dangling {
	var all []Dangling
	for _, open := range in.open {
		all = append(all, Dangling{Plan: open.plan, Run: open.run, Seq: open.seq, Items: slices.Sorted(maps.Keys(open.items))})
	}
	slices.SortFunc(all, func(a, b Dangling) int { return cmp.Compare(a.Seq, b.Seq) })
	return all
}

// eachItem calls do with the number of each item of an items value, which scan
// has found to be well-formed.
func eachItem(items []byte, do func(n int)) {
	const lead = `{"n":`
	for i := 1; i < len(items)-1; i++ {
		end := skipValue(items, i, 1)
		if end < 0 {
			return
		}
		if bytes.HasPrefix(items[i:], []byte(lead)) {
			start := i + len(lead)
			if stop := skipNumber(items, start); stop > 0 {
				if n, err := strconv.Atoi(string(items[start:stop])); err == nil {
					do(n)
				}
			}
		}
		i = end
	}
}
