package cli

import (
	"fmt"
	"strings"
	"testing"
)

// FuzzHead: what --expect takes is a number and a digest, the ones that were
// written down.
func FuzzHead(f *testing.F) {
	digest := strings.Repeat("0a", 32)
	for _, s := range []string{"7:" + digest, "7", ":" + digest, "-1:" + digest, "+7:" + digest, "7:" + strings.ToUpper(digest), "7:" + digest + ":", "7:" + digest[1:], "18446744073709551616:" + digest, " 7:" + digest} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		head, err := parseHead(s)
		if err != nil {
			return
		}
		if back := fmt.Sprintf("%d:%s", head.Seq, head.Hash); strings.TrimLeft(back, "0") != strings.TrimLeft(s, "0") {
			t.Errorf("%q is read as %q", s, back)
		}
		if len(head.Hash) != 64 || strings.Trim(head.Hash, "0123456789abcdef") != "" {
			t.Errorf("%q is read as the hash %q", s, head.Hash)
		}
	})
}
