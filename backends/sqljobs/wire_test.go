package sqljobs_test

import (
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// wire stands between a store and the server and notes what the store says.
type wire struct {
	listener net.Listener
	server   string
	running  sync.WaitGroup

	mu      sync.Mutex
	named   []string // statements that were prepared by name
	queries []string
}

func newWire(t *testing.T, server string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, server: server}
	w.running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			w.running.Go(func() { w.carry(client) })
		}
	})
	return w
}

func (w *wire) carry(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		return
	}
	defer server.Close()
	w.running.Go(func() {
		io.Copy(client, server)
		client.Close()
	})
	heard := pgproto3.NewBackend(io.TeeReader(client, server), nil)
	if _, err := heard.ReceiveStartupMessage(); err != nil {
		return
	}
	for {
		m, err := heard.Receive()
		if err != nil {
			return
		}
		w.note(m)
	}
}

func (w *wire) note(m pgproto3.FrontendMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch m := m.(type) {
	case *pgproto3.Parse:
		w.queries = append(w.queries, m.Query)
		if m.Name != "" {
			w.named = append(w.named, m.Query)
		}
	case *pgproto3.Query:
		w.queries = append(w.queries, m.String)
	}
}

// TestWire: behind a pooler that gives each transaction another session
// nothing may be left in one: no prepared statement, no setting, no lock, no
// LISTEN.
func TestWire(t *testing.T) {
	s := newSchema(t)
	s.exec(t, jobDDL+"INSERT INTO j (id) VALUES (1), (2)")
	w := newWire(t, s.dsn.Host)
	c := s.config(t, jobMapping, map[string]string{"jobs": "default"})
	c.Env = func(name string) (string, bool) {
		dsn, ok := s.env(name)
		u, err := url.Parse(dsn)
		if err != nil {
			return "", false
		}
		u.Host = w.listener.Addr().String()
		u.RawQuery = "sslmode=disable"
		return u.String(), ok
	}
	st := mustOpen(t, c)
	if _, err := checkUp(t, st); err != nil {
		t.Fatalf("checking: %v", err)
	}
	l, err := redrive(t, st, jobItems(t, st), "reset")
	if err != nil {
		t.Fatalf("redriving: %v", err)
	}
	l.want(t, "done", "done")
	st.Close()
	w.listener.Close()
	w.running.Wait()

	if len(w.named) > 0 || len(w.queries) < 10 {
		t.Errorf("%d statements, prepared by name: %q", len(w.queries), w.named)
	}
	for _, q := range w.queries {
		up := strings.ToUpper(q)
		outside := strings.HasPrefix(up, "SET ") && !strings.HasPrefix(up, "SET CONSTRAINTS") ||
			strings.Contains(up, "PG_ADVISORY_LOCK") || strings.HasPrefix(up, "LISTEN") || strings.HasPrefix(up, "PREPARE") ||
			strings.Count(q, "set_config(") != strings.Count(q, ", true)")
		if outside {
			t.Errorf("this outlives its transaction: %s", q)
		}
	}
}
