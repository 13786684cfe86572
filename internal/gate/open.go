package gate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/internal/redrive"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// Mode is how far the gate can be enforced. The other mode, a daemon under a
// user of its own, is not built.
const Mode = "guardrail"

// Gate is one open gate. Its sessions may be used by several goroutines.
type Gate struct {
	o Options

	mu     sync.Mutex
	pol    *policy.Policy
	places map[string]place      // where queues lead, by policy digest and name
	stores map[string]*openStore // by backend, for the policy digest they were opened with
	past   []backends.Store      // of earlier policies; a run or a look may still use them
	seen   snapshots
	book   *book
	st     *state
	stErr  error
	runs   sync.WaitGroup
}

// book is what a message needs that is recorded and not carried out. It is
// opened by the first one: a handshake does not wait for the ledger.
type book struct {
	folder *durable.Folder
	log    *audit.Log
}

// state is what is opened by the first call that needs it.
type state struct {
	*book
	ledger *ledger.Ledger
	exec   *redrive.Executor
	secret []byte
}

type openStore struct {
	digest string
	store  backends.Store
}

func open(_ context.Context, o Options) (*Gate, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.DirectWait == 0 {
		o.DirectWait = 10 * time.Second
	}
	if o.Env == nil {
		o.Env = os.LookupEnv
	}
	p, err := loadPolicy(o)
	if err != nil {
		return nil, err
	}
	return &Gate{o: o, pol: p, stores: map[string]*openStore{}, places: map[string]place{}}, nil
}

// loadPolicy loads the policy and lets each driver check its own sections.
func loadPolicy(o Options) (*policy.Policy, error) {
	p, err := policy.Load(o.PolicyPath, policy.Options{Kinds: PolicyKinds(o.Drivers), Env: o.Env})
	if err != nil {
		return nil, err
	}
	var faults policy.Faults
	for _, name := range slices.Sorted(maps.Keys(p.Backends)) {
		b := p.Backends[name]
		d, ok := o.Drivers[b.Kind]
		if !ok || d.Check == nil {
			continue
		}
		if f, bad := checkBackend(p, b, d.Check(storeConfig(p, b, o.Env))); bad {
			faults.All = append(faults.All, f)
		}
	}
	if len(faults.All) > 0 {
		return nil, &faults
	}
	return p, nil
}

func checkBackend(p *policy.Policy, b *policy.Backend, err error) (policy.Fault, bool) {
	if err == nil {
		return policy.Fault{}, false
	}
	c, ok := errors.AsType[*backends.ConfigError](err)
	if !ok {
		return b.Fault("", err.Error(), ""), true
	}
	if q := p.Queues[c.Queue]; q != nil {
		return q.SourceFault(c.Key, c.Why, c.Hint), true
	}
	return b.Fault(c.Key, c.Why, c.Hint), true
}

func storeConfig(p *policy.Policy, b *policy.Backend, env func(string) (string, bool)) backends.Config {
	c := backends.Config{Name: b.Name, Backend: b.Config, Sources: map[string]any{}, Env: env, Folder: p.Folder}
	for name, q := range p.Queues {
		if q.Backend == b {
			c.Sources[name] = q.Source
		}
	}
	return c
}

// policyNow is the policy as it stands in the file now. A file that no longer
// loads closes the gate: the old policy is not what its owner wants any more.
func (g *Gate) policyNow(ctx context.Context) (*policy.Policy, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if unchanged(g.pol) {
		return g.pol, nil
	}
	p, err := loadPolicy(g.o)
	if err != nil {
		return nil, refuse(CodeBadPolicy, "The policy file was changed and does not load now, so nothing is shown or sent. Ask a person to run `redrive-mcp policy check`.").because(err)
	}
	if p.State != g.pol.State {
		return nil, refuse(CodeBadPolicy, "The policy now names another state folder. Ask a person to restart this program.").
			hint("the state folder holds the ledger and the log; start redrive-mcp anew to use another one")
	}
	if p.Digest != g.pol.Digest && g.st != nil {
		if err := g.st.note(ctx, p); err != nil {
			return nil, auditRefusal(err)
		}
	}
	g.pol = p
	return p, nil
}

func unchanged(p *policy.Policy) bool {
	for _, f := range p.Files {
		data, err := os.ReadFile(filepath.Join(p.Folder, filepath.FromSlash(f.Name)))
		sum := sha256.Sum256(data)
		if err != nil || hex.EncodeToString(sum[:]) != f.Digest {
			return false
		}
	}
	return true
}

// state opens folder, log and ledger, once. After a failure every call fails
// alike until the next process, unless it passes by itself. urgent calls may use
// the space that is held back on a full disk.
func (g *Gate) state(ctx context.Context, urgent bool) (*state, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.st != nil || g.stErr != nil {
		return g.st, g.stErr
	}
	st, err := g.openState(context.WithoutCancel(ctx), urgent)
	if err != nil {
		refusal := stateRefusal(err)
		if !errors.Is(err, durable.ErrLocked) {
			g.stErr = refusal
		}
		return nil, refusal
	}
	g.st = st
	return st, nil
}

// logOnly opens folder and log, once, for what is only recorded.
func (g *Gate) logOnly() (*audit.Log, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stErr != nil {
		return nil, g.stErr
	}
	if err := g.openBook(); err != nil {
		g.stErr = stateRefusal(err)
		return nil, g.stErr
	}
	return g.book.log, nil
}

func (g *Gate) openBook() error {
	if g.book != nil {
		return nil
	}
	folder, err := durable.Open(g.pol.State)
	if err != nil {
		return err
	}
	before, err := folder.Names()
	if err == nil && len(before) == 0 { // a new folder, not one whose files were lost while it was stopped
		err = folder.WriteNew(goFile, nil)
	}
	if err != nil {
		return errors.Join(err, folder.Close())
	}
	host, _ := os.Hostname()
	log, err := audit.Open(folder, audit.Options{Clock: g.o.Clock, Host: host, PID: os.Getpid(), Mode: Mode})
	if err != nil {
		return err
	}
	g.book = &book{folder, log}
	return nil
}

func (g *Gate) openState(ctx context.Context, urgent bool) (st *state, err error) {
	if err := g.openBook(); err != nil {
		return nil, err
	}
	led, err := ledger.Open(ctx, g.book.folder, g.o.Clock)
	if err != nil && urgent && g.book.log.FreeReserve() == nil {
		led, err = ledger.Open(ctx, g.book.folder, g.o.Clock)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			led.Close()
		}
	}()
	st = &state{book: g.book, ledger: led, exec: &redrive.Executor{Ledger: led, Log: g.book.log}}
	if err := st.agree(ctx); err != nil {
		return nil, err
	}
	if st.secret, err = led.Secret(ctx); err != nil {
		return nil, err
	}
	if err := st.note(ctx, g.pol); err != nil && !urgent {
		return nil, err
	}
	return st, nil
}

// note keeps a policy beside the log and records that it holds from now on,
// unless it did already. One that is noted and not kept, because its files were
// lost or an earlier version did not keep them, is kept now.
func (st *state) note(ctx context.Context, p *policy.Policy) error {
	last, err := st.ledger.Meta(ctx, policyNote)
	if err != nil {
		return err
	}
	if _, err := st.log.GetObject(p.Digest); errors.Is(err, fs.ErrNotExist) {
		if err := st.keepPolicy(p); err != nil {
			return err
		}
	}
	if last == p.Digest {
		return nil
	}
	why := "changed from " + last
	if last == "" {
		why = "the first"
	}
	if _, err := st.log.Append(ctx, audit.Record{Op: ledger.NewID("o"), Phase: audit.PhasePolicy, Policy: p.Digest, Why: why}); err != nil {
		return err
	}
	return st.ledger.SetMeta(ctx, policyNote, p.Digest)
}

// keepPolicy stores the files of a policy and the list of them, a line
// "name sha256" each. The policy's digest is the list's SHA-256, so whoever
// meets the digest in the log finds the list under it, and the files.
func (st *state) keepPolicy(p *policy.Policy) error {
	var list strings.Builder
	for _, f := range p.Files {
		digest, err := st.log.PutObject(f.Data)
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%s %s\n", f.Name, digest)
	}
	digest, err := st.log.PutObject([]byte(list.String()))
	if err == nil && digest != p.Digest {
		err = fmt.Errorf("storing the policy: its files have the digest %s, not %s", digest, p.Digest)
	}
	return err
}

// policyNote is the ledger's note of the policy that was recorded last.
const policyNote = "policy"

// store opens the store of a backend; a changed policy opens it anew.
func (g *Gate) store(p *policy.Policy, b *policy.Backend) (backends.Store, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.stores[b.Name]; s != nil && s.digest == p.Digest {
		return s.store, nil
	}
	d, ok := g.o.Drivers[b.Kind]
	if !ok {
		return nil, refuse(CodeStore, "This build has no store of kind %s.", quote(b.Kind))
	}
	c := storeConfig(p, b, g.o.Env)
	c.Snapshots = g.snapshots
	s, err := d.Open(c)
	if err != nil {
		return nil, err
	}
	if old := g.stores[b.Name]; old != nil {
		g.past = append(g.past, old.store)
	}
	g.stores[b.Name] = &openStore{digest: p.Digest, store: s}
	return s, nil
}

// Close waits for runs and closes what is open. A store may wait for its looks,
// so the gate is not locked meanwhile.
func (g *Gate) Close() error {
	g.runs.Wait()
	g.mu.Lock()
	stores := g.past
	for _, s := range g.stores {
		stores = append(stores, s.store)
	}
	g.past, g.stores = nil, map[string]*openStore{}
	g.mu.Unlock()
	var errs []error
	for _, s := range stores {
		errs = append(errs, s.Close())
	}
	errs = append(errs, g.seen.close())
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.book != nil {
		errs = append(errs, g.book.log.Close())
	}
	if g.st != nil {
		errs = append(errs, g.st.ledger.Close())
	}
	if g.book != nil {
		errs = append(errs, g.book.folder.Close())
	}
	return errors.Join(errs...)
}
