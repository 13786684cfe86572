package policy

import (
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// info is a file of another owner, which only root could make.
type info struct {
	mode fs.FileMode
	uid  int
}

func (i info) Name() string       { return "x" }
func (i info) Size() int64        { return 0 }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return &syscall.Stat_t{Uid: uint32(i.uid)} }

func TestLooseness(t *testing.T) {
	me, other := os.Geteuid(), os.Geteuid()+1
	const written, owned = "everybody on this machine may write it", "it belongs to user"
	for name, c := range map[string]struct {
		info info
		want []string
	}{
		"mine":                      {info{0o600, me}, nil},
		"root's":                    {info{0o644, 0}, nil},
		"a group's":                 {info{0o664, me}, nil},
		"everybody's":               {info{0o646, me}, []string{written}},
		"another's":                 {info{0o600, other}, []string{owned}},
		"another's and everybody's": {info{0o666, other}, []string{written, owned}},
		"a folder for everybody":    {info{fs.ModeDir | 0o777, me}, []string{written}},
		"a folder like /tmp":        {info{fs.ModeDir | fs.ModeSticky | 0o777, me}, nil},
		"another's folder":          {info{fs.ModeDir | 0o755, other}, []string{owned}},
	} {
		got := looseness("p.yaml", "it", c.info)
		if len(got) != len(c.want) {
			t.Errorf("%s: %v", name, got)
			continue
		}
		for i, w := range c.want {
			if !strings.HasPrefix(got[i].Why, w) || got[i].Hint == "" || got[i].Place() != "p.yaml" {
				t.Errorf("%s: %v, want %s", name, got[i], w)
			}
		}
	}
}
