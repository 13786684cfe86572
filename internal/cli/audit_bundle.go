package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // the script of the bundle
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

func auditBundle() command {
	return command{
		name: "bundle", args: "PLAN",
		short: "collect what an auditor needs about one plan",
		long: "Writes into a folder the plan's bytes, the statements, policy files and other objects that records about it " +
			"name, those records, the content that can be erased (salts, and the bodies that are sent instead of stored " +
			"ones), the hashes of the log's segments, and a README that says how to check them with a shell and sha256sum " +
			"alone. PLAN is the request's id, or the plan's digest or its first 8 or more hex digits.",
		example: "redrive-mcp audit bundle 6f1c9a02 --out /tmp/bundle",
		setup: func(a *app, f *flag.FlagSet) action {
			l := a.logFlags(f)
			out := f.String("out", "", "write into `DIR`; needed")
			bare := f.Bool("without-content", false, "leave out the content that can be erased")
			return func(ctx context.Context, args []string) error {
				if *out == "" {
					return wrongUse("audit bundle: --out is missing")
				}
				return a.auditBundle(ctx, l, args[0], *out, *bare)
			}
		},
	}
}

// Folders inside a state folder and a bundle.
const (
	logFolder      = "audit"
	objectFolder   = "objects"
	erasableFolder = "erasable"
)

// bundle is what is collected about one plan.
type bundle struct {
	state, out *durable.Folder
	plan       string
	records    bytes.Buffer
	count      int
	objects    map[string]bool   // digests that the records name
	policies   map[string]bool   // those among them that are policies
	content    bool              // what can be erased is in the bundle
	sums       map[string]string // what was written: path -> SHA-256
}

func (a *app) auditBundle(ctx context.Context, l *logFlags, plan, out string, bare bool) error {
	state, err := l.open(a)
	if err != nil {
		return err
	}
	defer state.Close()
	b := &bundle{state: state, objects: map[string]bool{}, policies: map[string]bool{}, sums: map[string]string{}}
	if b.plan, err = findPlan(ctx, state, plan); err != nil {
		return err
	}
	if err := b.collect(ctx); err != nil {
		return err
	}
	path, err := filepath.Abs(out)
	if err != nil {
		return fmt.Errorf("finding the bundle's folder: %w", err)
	}
	if b.out, err = durable.Open(path); err != nil {
		return fmt.Errorf("making the bundle's folder: %w", err)
	}
	defer b.out.Close()
	if names, err := b.out.Names(); err != nil || len(names) > 0 {
		return wrongUse("audit bundle: %s is not empty", path).hint("name a new folder with --out")
	}
	if err := b.write(bare); err != nil {
		return err
	}
	a.printf("%s: %s, %s\n", path, count(b.count, "record"), count(len(b.sums), "file"))
	if b.content {
		a.warningf("the bundle holds message content; --without-content leaves it out")
	}
	return nil
}

// findPlan is the digest of the plan that a request's id or a digest's
// beginning names.
func findPlan(ctx context.Context, state *durable.Folder, name string) (string, error) {
	if !strings.HasPrefix(name, "r-") {
		return wholePlan(ctx, state, name)
	}
	for r, err := range audit.Read(ctx, state, audit.Query{Phase: audit.PhasePlan, Contains: `"` + name + `"`}) {
		if err != nil {
			return "", err
		}
		if r.Outcome == name {
			return r.Plan, nil
		}
	}
	return "", fail(exitNothing, "the log names no request %s", name)
}

// wholePlan is the one plan in the log that a digest's beginning names.
func wholePlan(ctx context.Context, state *durable.Folder, prefix string) (string, error) {
	prefix = strings.ToLower(strings.ReplaceAll(prefix, "-", ""))
	if len(prefix) < leastDigest || strings.Trim(prefix, "0123456789abcdef") != "" {
		return "", wrongUse("audit bundle: PLAN is a request's id, or at least %d hex digits of a plan's digest", leastDigest).
			hint("%s show ID prints a request's digest", program)
	}
	found := ""
	for r, err := range audit.Read(ctx, state, audit.Query{Contains: prefix}) {
		switch {
		case err != nil:
			return "", err
		case !strings.HasPrefix(r.Plan, prefix) || r.Plan == found:
		case found != "":
			return "", fail(exitFailed, "several plans begin with %s", prefix).hint("give more of the digest")
		default:
			found = r.Plan
		}
	}
	if found == "" {
		return "", fail(exitNothing, "the log names no plan that begins with %s", prefix)
	}
	return found, nil
}

// collect reads the records about the plan and what they name.
func (b *bundle) collect(ctx context.Context) error {
	for r, err := range audit.Read(ctx, b.state, audit.Query{Plan: b.plan}) {
		if err != nil {
			return err
		}
		b.count++
		b.records.Write(r.Raw)
		b.records.WriteByte('\n')
		for _, digest := range append(digests(r.Args), r.Plan, r.Policy) {
			b.objects[digest] = true
		}
		b.policies[r.Policy] = true
	}
	return nil
}

// digests are the arguments that have the form of an object's name.
func digests(args []audit.Arg) []string {
	var out []string
	for _, arg := range args {
		values, ok := arg.Value.([]string)
		if s, one := arg.Value.(string); one && !ok {
			values = []string{s}
		}
		for _, v := range values {
			if isDigest(v) {
				out = append(out, v)
			}
		}
	}
	return out
}

func (b *bundle) write(bare bool) error {
	if err := b.put(b.out, "", "records.jsonl", b.records.Bytes()); err != nil {
		return err
	}
	if err := b.policyFiles(); err != nil {
		return err
	}
	if err := b.copy(objectFolder, b.objects); err != nil {
		return err
	}
	if b.sums[objectFolder+"/"+b.plan] == "" {
		return fail(exitFailed, "the plan's bytes are missing: objects/%s", b.plan).hint("%s audit verify says what else is", program)
	}
	if err := b.check(bare); err != nil {
		return err
	}
	segments, err := b.segments()
	if err != nil {
		return err
	}
	if err := b.put(b.out, "", "segments.sha256", segments); err != nil {
		return err
	}
	if err := b.put(b.out, "", "README", b.readme()); err != nil {
		return err
	}
	return b.out.WriteNew("SHA256SUMS", b.list())
}

// check adds what proves the plan's commits, and the script that does so.
func (b *bundle) check(bare bool) error {
	if err := b.put(b.out, "", "commits.sh", []byte(commitsScript)); err != nil || bare {
		return err
	}
	if err := b.copy(erasableFolder, map[string]bool{b.plan: true}); err != nil {
		return err
	}
	b.content = b.sums[erasableFolder+"/"+b.plan] != ""
	return nil
}

// commitsScript recomputes commits with a shell and sha256sum alone.
//
//go:embed commits.sh
var commitsScript string

// policyFiles adds the files of the policies: the object that has a policy's
// digest lists them, "name sha256" on a line each.
func (b *bundle) policyFiles() error {
	folder, err := b.state.Existing(objectFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("collecting policies: %w", err)
	}
	defer folder.Close()
	for digest := range b.policies {
		if !isDigest(digest) {
			continue
		}
		list, err := folder.Read(digest, maxBundled)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("collecting policy %s: %w", digest, err)
		}
		for line := range strings.Lines(string(list)) {
			if words := strings.Fields(line); len(words) > 0 {
				b.objects[words[len(words)-1]] = true
			}
		}
	}
	return nil
}

func isDigest(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

// copy copies those files of a folder of the state that are there. A digest
// that names no file is no object; content that is gone was erased.
func (b *bundle) copy(folder string, names map[string]bool) error {
	from, err := b.state.Existing(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("collecting %s: %w", folder, err)
	}
	defer from.Close()
	to, err := b.out.Sub(folder)
	if err != nil {
		return fmt.Errorf("making the bundle's folder: %w", err)
	}
	defer to.Close()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !isDigest(name) {
			continue
		}
		data, err := from.Read(name, maxBundled)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("collecting %s/%s: %w", folder, name, err)
		}
		if err := b.put(to, folder+"/", name, data); err != nil {
			return err
		}
	}
	return nil
}

const maxBundled = 64 << 20 // an object's own limit

func (b *bundle) put(folder *durable.Folder, under, name string, data []byte) error {
	if err := folder.WriteNew(name, data); err != nil {
		return fmt.Errorf("writing the bundle: %w", err)
	}
	b.sums[under+name] = hexSum(data)
	return nil
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// segments are the hashes of the log's files, as sha256sum prints them.
func (b *bundle) segments() ([]byte, error) {
	folder, err := b.state.Existing(logFolder)
	if err != nil {
		return nil, fmt.Errorf("hashing the log: %w", err)
	}
	defer folder.Close()
	names, err := folder.Names()
	if err != nil {
		return nil, fmt.Errorf("hashing the log: %w", err)
	}
	var out bytes.Buffer
	for _, name := range names {
		if !strings.HasSuffix(name, ".jsonl") {
			continue
		}
		sum, err := sumFile(folder, name)
		if err != nil {
			return nil, fmt.Errorf("hashing the log: %w", err)
		}
		fmt.Fprintf(&out, "%s  %s/%s\n", sum, logFolder, name)
	}
	return out.Bytes(), nil
}

func sumFile(folder *durable.Folder, name string) (string, error) {
	file, err := folder.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (b *bundle) list() []byte {
	var out bytes.Buffer
	for _, path := range slices.Sorted(maps.Keys(b.sums)) {
		fmt.Fprintf(&out, "%s  %s\n", b.sums[path], path)
	}
	return out.Bytes()
}
