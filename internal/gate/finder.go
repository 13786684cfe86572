package gate

import "errors"

// maxSought bounds the bytes of hidden values that are looked for elsewhere.
const maxSought = 256 << 10

var errSought = errors.New("it hides more than can be looked for elsewhere")

// finder looks for many values in a text at once (Aho and Corasick, 1975): a
// letter may hide thousands, and one pass for each would let one letter hold up
// everybody.
type finder struct {
	first [256]int32 // from the root, by byte; 0: none
	nodes []findNode // the root is 0
}

// findNode is what was read so far, as far as some value begins with it.
type findNode struct {
	next, other int32 // the first of the nodes behind it, and the next of its siblings
	back        int32 // the node of the longest end of this one that begins a value
	match       int32 // bytes of the longest value that ends here, 0: none
	c           byte
}

// newFinder returns nil where there is nothing to look for.
func newFinder(values [][]byte) (*finder, error) {
	sum := 0
	for _, v := range values {
		sum += len(v)
	}
	switch {
	case sum == 0:
		return nil, nil
	case sum > maxSought:
		return nil, errSought
	}
	f := &finder{nodes: make([]findNode, 1, sum+1)}
	for _, v := range values {
		f.add(v)
	}
	f.link()
	return f, nil
}

func (f *finder) add(v []byte) {
	at := int32(0)
	for _, c := range v {
		next := f.child(at, c)
		if next == 0 {
			next = int32(len(f.nodes))
			f.nodes = append(f.nodes, findNode{c: c, other: f.nodes[at].next})
			f.nodes[at].next = next
			if at == 0 {
				f.first[c] = next
			}
		}
		at = next
	}
	f.nodes[at].match = int32(len(v))
}

func (f *finder) child(at int32, c byte) int32 {
	if at == 0 {
		return f.first[c]
	}
	n := f.nodes[at].next
	for n != 0 && f.nodes[n].c != c {
		n = f.nodes[n].other
	}
	return n
}

// link sets where to go on when a value is not continued, level by level.
func (f *finder) link() {
	queue := []int32{0}
	for i := 0; i < len(queue); i++ {
		at := queue[i]
		for n := f.nodes[at].next; n != 0; n = f.nodes[n].other {
			if at != 0 {
				f.nodes[n].back = f.step(f.nodes[at].back, f.nodes[n].c)
			}
			if f.nodes[n].match == 0 {
				f.nodes[n].match = f.nodes[f.nodes[n].back].match
			}
			queue = append(queue, n)
		}
	}
}

func (f *finder) step(at int32, c byte) int32 {
	for {
		if n := f.child(at, c); n != 0 {
			return n
		}
		if at == 0 {
			return 0
		}
		at = f.nodes[at].back
	}
}

// find calls hit with the ends of what was found: of several values that end at
// one place the longest.
func (f *finder) find(text string, hit func(from, to int)) {
	if f == nil {
		return
	}
	at := int32(0)
	for i := range len(text) {
		at = f.step(at, text[i])
		if n := f.nodes[at].match; n > 0 {
			hit(i+1-int(n), i+1)
		}
	}
}
