package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// maxChecked bounds the memory for plans already looked at. When it is full it
// is emptied: a plan may then be looked at again, and is reported once more.
const maxChecked = 1 << 16

// objectCheck looks for the bytes of each plan that records name.
type objectCheck struct {
	state   *durable.Folder
	folder  *durable.Folder
	err     error
	checked map[[hashLen]byte]bool
	found   []Object
	more    int  // beyond those found
	altered bool // some object has other bytes
}

func newObjectCheck(state *durable.Folder) *objectCheck {
	return &objectCheck{state: state, checked: make(map[[hashLen]byte]bool)}
}

// note looks at a plan the first time a record names it. A plan that is no
// SHA-256 is no object.
func (c *objectCheck) note(l *line) {
	plan := l.text(keyPlan)
	if len(plan) != hashLen || !isHex(plan) {
		return
	}
	key := [hashLen]byte(plan)
	if c.checked[key] {
		return
	}
	if len(c.checked) == maxChecked {
		clear(c.checked)
	}
	c.checked[key] = true
	missing, why := c.check(string(plan))
	if why == "" {
		return
	}
	c.altered = c.altered || !missing
	if len(c.found) == maxWarnings {
		c.more++
		return
	}
	c.found = append(c.found, Object{Sum: string(plan), Seq: l.seq, Missing: missing, Why: why})
}

// check says what is wrong with an object, or "".
func (c *objectCheck) check(sum string) (missing bool, why string) {
	if c.folder == nil && c.err == nil {
		c.folder, c.err = c.state.Existing(objectFolder)
	}
	if c.err != nil {
		return errors.Is(c.err, fs.ErrNotExist), c.err.Error()
	}
	file, err := c.folder.OpenFile(sum, os.O_RDONLY)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist), err.Error()
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return false, fmt.Sprintf("reading it: %v", err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != sum {
		return false, "its bytes have the SHA-256 " + got
	}
	return false, ""
}

func (c *objectCheck) close() {
	if c.folder != nil {
		c.folder.Close()
	}
}
