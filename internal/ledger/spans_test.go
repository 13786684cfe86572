package ledger

import (
	"slices"
	"testing"
)

func TestSpans(t *testing.T) {
	for _, c := range []struct {
		ns   []int
		want []span
	}{
		{nil, nil},
		{[]int{7}, []span{{7, 7}}},
		{[]int{0, 1, 2, 3}, []span{{0, 3}}},
		{[]int{9, 3, 2, 4, 8}, []span{{2, 4}, {8, 9}}},
		{[]int{1, 3, 5}, []span{{1, 1}, {3, 3}, {5, 5}}},
		{[]int{2, 1, 2, 2, 1}, []span{{1, 2}}}, // what names an item twice is short of items
	} {
		if got := spansOf(c.ns); !slices.Equal(got, c.want) {
			t.Errorf("the spans of %v are %v, want %v", c.ns, got, c.want)
		}
	}
}
