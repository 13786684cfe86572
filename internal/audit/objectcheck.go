package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// maxChecked bounds the memory for objects already looked at. When it is full it
// is emptied: an object may then be looked at again, and is reported once more.
const maxChecked = 1 << 16

// objectCheck looks for the bytes of each object that records name: plans, what
// people were shown, and policies with their files.
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

// note looks at the objects of a record that no record named before. All records
// of one policy name it, so it is enough to look at the one that says it holds.
func (c *objectCheck) note(l *line, phase string) {
	c.object(l.text(keyPlan), l.seq)
	switch phase {
	case PhaseApproval:
		c.object(statementOf(l.vals[keyArgs]), l.seq)
	case PhasePolicy:
		if c.object(l.text(keyPolicy), l.seq) {
			c.files(string(l.text(keyPolicy)), l.seq)
		}
	}
}

// statementOf is args.statement, or nothing. No string of a record holds a bare
// quote, so what is found is the key.
func statementOf(args []byte) []byte {
	_, rest, _ := bytes.Cut(args, []byte(`"statement":"`))
	sum, _, _ := bytes.Cut(rest, []byte(`"`))
	return sum
}

// files looks at the files of a policy. Its object is a list with a line "name
// sha256" for each, and the name may hold spaces.
func (c *objectCheck) files(policy string, seq uint64) {
	list, err := c.folder.Read(policy, maxObject)
	if err != nil {
		c.report(policy, seq, false, err.Error())
		return
	}
	for file := range bytes.Lines(list) {
		file = bytes.TrimSuffix(file, []byte("\n"))
		c.object(file[bytes.LastIndexByte(file, ' ')+1:], seq)
	}
}

// object looks at an object and reports whether this was the first time and all
// is well with it. A name that is no SHA-256 is none of an object.
func (c *objectCheck) object(sum []byte, seq uint64) (good bool) {
	if len(sum) != hashLen || !isHex(sum) {
		return false
	}
	key := [hashLen]byte(sum)
	if c.checked[key] {
		return false
	}
	if len(c.checked) == maxChecked {
		clear(c.checked)
	}
	c.checked[key] = true
	missing, why := c.check(string(sum))
	if why != "" {
		c.report(string(sum), seq, missing, why)
	}
	return why == ""
}

func (c *objectCheck) report(sum string, seq uint64, missing bool, why string) {
	c.altered = c.altered || !missing
	if len(c.found) == maxWarnings {
		c.more++
		return
	}
	c.found = append(c.found, Object{Sum: sum, Seq: seq, Missing: missing, Why: why})
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
