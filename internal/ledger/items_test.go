package ledger

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// Items go into the ledger packed; they come out as they were, however many, of
// whatever lengths and with whatever numbers.
func TestPackedItems(t *testing.T) {
	l, _ := newLedger(t)
	var many []Item
	for n := range 2 * mostPacked {
		it := Item{N: n + n/700*3, Ref: backends.Ref{Queue: "mail", ID: strings.Repeat("é", n%7) + fmt.Sprint(n), Mark: strings.Repeat("m", n%13)}}
		it.Ref.Digest[n%32], it.Salt[n%31] = byte(n), byte(n/256+1)
		if n%500 == 1 {
			it.Body = []byte(strings.Repeat("b", n))
		}
		many = append(many, it)
	}
	many[5].Body = []byte{}
	long := strings.Repeat("x", 1<<lengthBits-1)
	for i, items := range [][]Item{
		many,
		{{Ref: backends.Ref{Queue: "mail"}}}, // neither id nor mark
		{{N: 9, Ref: backends.Ref{Queue: "mail", ID: long, Mark: long}}, {N: 10, Ref: backends.Ref{Queue: "mail", ID: "after"}}},
	} {
		plan := fmt.Sprint("r-", i)
		must(t, l.Create(t.Context(), request(plan), items, Caps{}))
		got := allItems(t, l, plan)
		for k := range got {
			got[k].State, got[k].At = "", time.Time{}
		}
		if len(got) != len(items) || !reflect.DeepEqual(got, items) {
			t.Errorf("%d items of %s became %d others", len(items), plan, len(got))
		}
	}
	for _, ref := range []backends.Ref{{ID: long + "x"}, {ID: "1", Mark: long + "x"}} {
		if err := l.Create(t.Context(), request("r-9"), []Item{{Ref: ref}}, Caps{}); err == nil {
			t.Errorf("an id of %d bytes with a mark of %d was kept", len(ref.ID), len(ref.Mark))
		}
	}
}

func TestItemsInStates(t *testing.T) {
	l, _ := newLedger(t)
	fence := running(t, l, request("r-1", approved), letters("a", "b", "c"))
	intend(t, l, "r-1", fence, "t-1", 1)
	for want, states := range map[string][]backends.State{
		"a b c": nil, "b": {backends.Intended}, "a c": {backends.Claimed}, "a b c ": {backends.Claimed, backends.Intended}, "": {backends.Done},
	} {
		var got []string
		for it, err := range l.Items(t.Context(), "r-1", states...) {
			must(t, err)
			got = append(got, it.Ref.ID)
		}
		if strings.Join(got, " ") != strings.TrimSpace(want) {
			t.Errorf("in %q are %q, want %q", states, got, want)
		}
	}
}
