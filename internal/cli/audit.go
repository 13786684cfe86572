package cli

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
	"github.com/redrive-mcp/redrive-mcp/internal/gate"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

func auditCommand() command {
	return command{
		name: "audit", part: partCheck,
		short: "read and verify the audit log",
		long:  "Reads the log of what was asked, decided and done, and verifies that it is what was written. These commands take no lock and change nothing.",
		subs:  []command{auditTail(), auditSearch(), auditShow(), auditVerify(), auditBundle()},
	}
}

// logFlags name the log to read.
type logFlags struct{ state string }

func (a *app) logFlags(f *flag.FlagSet) *logFlags {
	l := new(logFlags)
	a.policyFlag(f)
	f.StringVar(&l.state, "state", "", "read the log of this state folder or a copy of it, `DIR`, without a policy")
	return l
}

// open opens the state folder for reading. Opening must not make one: a log
// that is not there is an answer.
func (l *logFlags) open(a *app) (*durable.Folder, error) {
	state, err := l.folder(a)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(state); errors.Is(err, fs.ErrNotExist) {
		return nil, fail(exitUnreadable, "there is no state folder %s, so there is no log yet", state)
	}
	folder, err := durable.Open(state)
	if unsafe, ok := errors.AsType[*durable.Unsafe](err); ok {
		return nil, fail(exitUnreadable, "refused %s: %s", unsafe.Path, unsafe.Why).hint("%s", unsafe.Hint)
	}
	if err != nil {
		return nil, fail(exitUnreadable, "opening the state folder: %w", err)
	}
	return folder, nil
}

func (l *logFlags) folder(a *app) (string, error) {
	if l.state != "" {
		path, err := filepath.Abs(l.state)
		if err != nil {
			return "", fmt.Errorf("finding the state folder: %w", err)
		}
		return path, nil
	}
	path, err := a.policyPath()
	if err != nil {
		return "", err
	}
	p, err := policy.Load(path, policy.Options{Kinds: gate.PolicyKinds(a.Drivers)})
	if err != nil {
		return "", policyError(err)
	}
	return p.State, nil
}
