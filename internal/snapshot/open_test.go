package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

func TestFilesArePrivateAndKept(t *testing.T) {
	d, clock := newDB(t)
	looked(t, d, place, true, seen("a", 1))
	names, err := d.state.Names()
	must(t, err)
	if want := fmt.Sprint([]string{lockName(place), FileName, FileName + "-shm", FileName + "-wal", openLock}); fmt.Sprint(names) != want {
		t.Errorf("the folder has %v, want %s", names, want)
	}
	for _, name := range names {
		info, err := os.Stat(filepath.Join(d.state.Path(), name))
		must(t, err)
		if info.Mode() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	must(t, d.Close())
	d = openIn(t, d.state, clock.Now)
	wantIDs(t, "opened again", list(t, d, place, backends.SnapshotQuery{}), "a(1) ")
	must(t, d.Close())
	for _, name := range names {
		must(t, d.state.Remove(name))
	}
	d = openIn(t, d.state, clock.Now)
	wantIDs(t, "thrown away", list(t, d, place, backends.SnapshotQuery{}), "")
	looked(t, d, place, true, seen("a", 1))
}

func TestUnsafeFilesAreRefused(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"symbolic link": func(p string) error { return errors.Join(os.WriteFile(p+".x", nil, 0o600), os.Symlink(p+".x", p)) },
		"dangling link": func(p string) error { return os.Symlink(p+".none", p) },
		"pipe":          func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"folder":        func(p string) error { return os.Mkdir(p, 0o700) },
		"readable":      func(p string) error { return errors.Join(os.WriteFile(p, nil, 0o600), os.Chmod(p, 0o644)) },
		"second name":   func(p string) error { return errors.Join(os.WriteFile(p, nil, 0o600), os.Link(p, p+".x")) },
	} {
		for _, file := range []string{FileName, FileName + "-wal", FileName + "-shm", FileName + "-journal", openLock, lockName(place)} {
			t.Run(name+" "+file, func(t *testing.T) {
				state := newState(t)
				must(t, put(filepath.Join(state.Path(), file)))
				d, err := Open(t.Context(), state, time.Now, month)
				if err == nil {
					defer d.Close()
					_, err = d.Begin(t.Context(), place)
				}
				if _, ok := errors.AsType[*durable.Unsafe](err); !ok {
					t.Errorf("%s: %v", file, err)
				}
			})
		}
	}
}

// A file of another schema, and one that is no database, are refused with what to
// do about them.
func TestForeignFiles(t *testing.T) {
	for name, put := range map[string]func(t *testing.T, d *DB){
		"a newer schema": func(t *testing.T, d *DB) { exec1(t, d, `PRAGMA user_version = 2`) },
		"another table":  func(t *testing.T, d *DB) { exec1(t, d, `ALTER TABLE letters RENAME COLUMN facts TO fact`) },
		"text": func(t *testing.T, d *DB) {
			must(t, d.Close())
			must(t, os.WriteFile(d.path(), []byte(strings.Repeat("no database ", 1000)), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, clock := newDB(t)
			looked(t, d, place, true, seen("a", 1))
			put(t, d)
			d.Close()
			d, err := Open(t.Context(), d.state, clock.Now, month)
			if err == nil {
				defer d.Close()
				for _, err = range d.Letters(t.Context(), place, backends.SnapshotQuery{}) {
				}
			}
			wantDamaged(t, err)
		})
	}
}

func wantDamaged(t *testing.T, err error) {
	t.Helper()
	e, ok := errors.AsType[*backends.Error](err)
	if !ok || e.Code != backends.Internal || !strings.Contains(e.Sentence, "damaged") || !strings.Contains(e.Hint, FileName) {
		t.Errorf("%v is not the error of a damaged file", err)
	}
}

// Wherever the disk turned bytes over, what is answered is as it was put, or there
// is an error that says what to do.
func TestDamage(t *testing.T) {
	d, clock := newDB(t)
	want := map[string]backends.Snapshot{}
	var letters []backends.Snapshot
	for i := range 400 {
		s := seen(fmt.Sprintf("letter-%03d", i), int64(i/7))
		s.Body = bytes.Repeat(s.Body, 1+i%90)
		s.Size = len(s.Body)
		letters = append(letters, s)
		want[s.ID] = s
	}
	looked(t, d, place, true, letters...)
	exec1(t, d, `PRAGMA wal_checkpoint(TRUNCATE)`)
	must(t, d.Close())
	whole, err := os.ReadFile(d.path())
	must(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	for round := range 120 {
		data := bytes.Clone(whole)
		at := r.IntN(len(data))
		if round%10 == 0 {
			copy(data[at:], bytes.Repeat([]byte{byte(round)}, 512))
		}
		data[at] ^= 1 << r.IntN(8)
		must(t, os.WriteFile(d.path(), data, 0o600))
		for _, side := range []string{"-wal", "-shm"} {
			must(t, d.state.Remove(FileName+side))
		}
		d, err := Open(t.Context(), d.state, clock.Now, month)
		if err == nil {
			for s, e := range d.Letters(t.Context(), place, backends.SnapshotQuery{Bodies: true}) {
				if err = e; err != nil {
					break
				}
				if w := want[s.ID]; !bytes.Equal(w.Body, s.Body) || !bytes.Equal(w.Facts, s.Facts) || w.Order != s.Order || w.Size != s.Size || s.Looks != 1 {
					t.Errorf("with byte %d changed, letter %q is %.200q", at, s.ID, fmt.Sprint(*s))
				}
			}
			d.Close()
		}
		if err != nil {
			found++
			wantDamaged(t, err)
		}
	}
	if found < 40 {
		t.Errorf("only %d of 120 were found", found)
	}
}
