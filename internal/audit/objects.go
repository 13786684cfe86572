package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// Folders of the state folder that this package keeps. maxObject keeps a reader
// from taking a huge file that somebody put there into memory.
const (
	logFolder      = "audit"
	objectFolder   = "objects"
	erasableFolder = "erasable"

	maxObject = 64 << 20
)

// subFolder is a folder of the state folder that is opened when first needed.
type subFolder struct {
	state  *durable.Folder
	name   string
	mu     sync.Mutex
	folder *durable.Folder
}

func (s *subFolder) open() (*durable.Folder, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folder != nil {
		return s.folder, nil
	}
	var err error
	s.folder, err = s.state.Sub(s.name)
	return s.folder, err
}

func (s *subFolder) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folder == nil {
		return nil
	}
	err := s.folder.Close()
	s.folder = nil
	return err
}

// PutObject stores bytes that records name, of at most 64 MiB, as
// objects/<sha256>, durably, and returns that SHA-256 in hex.
func (l *Log) PutObject(data []byte) (string, error) {
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	return name, put(l.objects, name, data)
}

// PutErasable stores content that somebody may have to erase, as
// erasable/<commit>, durably. The commit is a salted digest, 64 hex digits: the
// log names it and stays valid without the content.
func (l *Log) PutErasable(commit string, data []byte) error {
	return put(l.erasable, commit, data)
}

// GetObject returns the bytes of an object. The error wraps ErrDamaged if they
// do not have this SHA-256, and fs.ErrNotExist if there are none.
func (l *Log) GetObject(sum string) ([]byte, error) {
	data, err := get(l.objects, sum)
	if err != nil {
		return nil, err
	}
	if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
		return nil, fmt.Errorf("%w: object %s has other bytes", ErrDamaged, sum)
	}
	return data, nil
}

// GetErasable returns erasable content; the error wraps fs.ErrNotExist once it
// is erased. Whoever knows how the commit was made checks it.
func (l *Log) GetErasable(commit string) ([]byte, error) {
	return get(l.erasable, commit)
}

// Erase removes erasable content, as far as the disk forgets what was removed.
// What is already gone is no error.
func (l *Log) Erase(commits ...string) error {
	for _, commit := range commits {
		if !isDigest(commit) {
			return errName(commit)
		}
	}
	dir, err := l.erasable.open()
	if err != nil {
		return fmt.Errorf("erasing: %w", err)
	}
	return dir.Remove(commits...)
}

func put(folder *subFolder, name string, data []byte) error {
	if !isDigest(name) {
		return errName(name)
	}
	if len(data) > maxObject {
		return fmt.Errorf("storing %s/%s: %d bytes are more than %d", folder.name, name, len(data), maxObject)
	}
	dir, err := folder.open()
	if err != nil {
		return fmt.Errorf("storing %s/%s: %w", folder.name, name, err)
	}
	return dir.WriteNew(name, data)
}

func get(folder *subFolder, name string) ([]byte, error) {
	if !isDigest(name) {
		return nil, errName(name)
	}
	dir, err := folder.open()
	if err != nil {
		return nil, fmt.Errorf("reading %s/%s: %w", folder.name, name, err)
	}
	return dir.Read(name, maxObject)
}

func isDigest(s string) bool { return len(s) == hashLen && isHex([]byte(s)) }

var errNoDigest = errors.New("a digest has 64 lower-case hex digits")

func errName(name string) error { return fmt.Errorf("%w, not %q", errNoDigest, cut(name, 80)) }
