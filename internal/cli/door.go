package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

const policyVariable = "REDRIVE_POLICY"

func (a *app) policyFlag(f *flag.FlagSet) {
	f.StringVar(&a.policyFile, "policy", "", "the policy `FILE`; else REDRIVE_POLICY, else ./policy.yaml")
}

// personFlags are those of a command that a person types: the policy, and who
// they say to be.
func (a *app) personFlags(f *flag.FlagSet) {
	a.policyFlag(f)
	f.Func("as", "act under this `NAME`, which is recorded beside your operating-system user and not proven; without it, as that user", func(name string) error {
		a.as = name
		return checkName(name)
	})
}

// maxName is how many characters of a name are kept everywhere.
const maxName = 80

// checkName refuses a name that would not be recorded and shown as it is.
func checkName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return errors.New("a name is needed")
	case oneLine(name) != name:
		return errors.New("a name has no control or invisible characters")
	case utf8.RuneCountInString(name) > maxName:
		return fmt.Errorf("a name has at most %d characters", maxName)
	}
	return nil
}

func (a *app) jsonFlag(f *flag.FlagSet) {
	f.BoolVar(&a.json, "json", false, "print JSON")
}

// policyPath is the policy that a person's command uses.
func (a *app) policyPath() (string, error) {
	if path := a.namedPolicy(); path != "" {
		return path, nil
	}
	if _, err := os.Stat("policy.yaml"); err == nil {
		return "policy.yaml", nil
	}
	return "", wrongUse("no policy: there is no policy.yaml in this folder").
		hint("name one with --policy FILE or set %s", policyVariable).
		hint("%s demo shows everything without one", program)
}

func (a *app) namedPolicy() string {
	if a.policyFile != "" {
		return a.policyFile
	}
	path, _ := a.env(policyVariable)
	return path
}

func (a *app) gateOptions(path string) gate.Options {
	return gate.Options{PolicyPath: path, Drivers: a.Drivers, Env: a.env}
}

// person opens the gate for the one who types and runs do.
func (a *app) person(ctx context.Context, do func(p *gate.Person) error) error {
	path, err := a.policyPath()
	if err != nil {
		return err
	}
	return a.personWith(ctx, a.gateOptions(path), do)
}

func (a *app) personWith(ctx context.Context, o gate.Options, do func(p *gate.Person) error) error {
	g, err := gate.Open(ctx, o)
	if err != nil {
		return policyError(err)
	}
	p := g.Person(a.caller())
	err = do(p)
	// Ctrl-C must not keep the last batch from being closed properly.
	closing := errors.Join(p.Close(context.WithoutCancel(ctx)), g.Close())
	if err == nil {
		err = closing
	}
	return err
}

// caller is who types: by the name that they gave, if they gave one, beside the
// name that the operating system knows.
func (a *app) caller() gate.Caller {
	name, user := a.as, osUser()
	if name == "" {
		name = user
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return gate.Caller{Principal: name, OSUser: user, Host: host, Session: rand.Text()[:16]}
}

func osUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "uid " + strconv.Itoa(os.Getuid())
}
