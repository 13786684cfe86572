package accounting

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// server is a PostgreSQL server of our own, which may be killed.
type server struct {
	bin, dir string
	port     int
	as       *syscall.Credential

	mu    sync.Mutex
	input io.Closer // the server ends with it
	ended chan struct{}
}

// newServer makes a cluster and starts it. Its settings are PostgreSQL's own.
func newServer(t testing.TB) *server {
	t.Helper()
	s := &server{}
	find := exec.Command("bash", "-c", ". ../../testdata/services/postgres.sh && postgres_find")
	out, err := find.Output()
	if s.bin = strings.TrimSpace(string(out)); err != nil || s.bin == "" {
		t.Fatalf("no initdb was found (%v): this test kills a server of its own, so it needs the programs of PostgreSQL", err)
	}
	s.dir, err = os.MkdirTemp("", "redrive-fire-pg-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(s.dir) })
	if os.Getuid() == 0 { // as which PostgreSQL refuses to run
		s.as = credential(t)
		must(t, os.Chown(s.dir, int(s.as.Uid), int(s.as.Gid)))
	}
	initdb := exec.Command(filepath.Join(s.bin, "initdb"), "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = s.dir, &syscall.SysProcAttr{Credential: s.as}
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	for range 10 {
		s.port = 20000 + rand.IntN(12000) // taken ports are found by trying
		if err = s.start(); err == nil {
			t.Cleanup(s.stop)
			return s
		}
	}
	log, _ := os.ReadFile(s.dir + "/log")
	t.Fatalf("the server does not start: %v\n%s", err, log)
	return nil
}

func credential(t testing.TB) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	must(t, err)
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	must(t, err)
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	must(t, err)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

// dsn is the connection string of a role.
func (s *server) dsn(role string) string {
	return fmt.Sprintf("postgres://%s:unused@127.0.0.1:%d/postgres?sslmode=disable", role, s.port)
}

// guard runs a server, and ends it at once when the input ends, as it does when
// the test is killed.
const guard = `exec 3<&0; "$@" >>log 2>&1 </dev/null 3<&- & server=$!
	(read -r _ <&3; kill -QUIT $server) 2>/dev/null & wait $server`

// start starts the server and waits until it answers.
func (s *server) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cmd := exec.Command("sh", "-c", guard, "guard", filepath.Join(s.bin, "postgres"), "-D", s.data(), "-p", strconv.Itoa(s.port), "-k", s.dir,
		"-c", "listen_addresses=127.0.0.1", "-c", "shared_buffers=32MB")
	cmd.Dir, cmd.SysProcAttr = s.dir, &syscall.SysProcAttr{Credential: s.as, Setpgid: true}
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.input, s.ended = input, make(chan struct{})
	go func(ended chan struct{}) { cmd.Wait(); close(ended) }(s.ended)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ready := exec.Command(filepath.Join(s.bin, "pg_isready"), "-q", "-U", "postgres", "-h", s.dir, "-p", strconv.Itoa(s.port))
		if ready.Run() == nil {
			return nil
		}
		select {
		case <-s.ended:
			return errors.New("the server ended at once")
		case <-tick.C:
		}
	}
}

// stop is PostgreSQL's "immediate" stop: no session is finished, and the next
// start recovers from the log.
func (s *server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.input != nil {
		s.input.Close()
		<-s.ended
		s.input = nil
	}
}

func (s *server) open(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", s.dsn("postgres"))
	must(t, err)
	return db
}
