package stdio

import (
	"crypto/rand"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// session is the one client of a pipe as the server sees it.
type session struct {
	id     string
	notes  chan mcp.JSONRPCNotification
	ready  atomic.Bool
	client func(mcp.Implementation)

	mu   sync.Mutex
	info mcp.Implementation
	caps mcp.ClientCapabilities
}

var _ server.SessionWithClientInfo = (*session)(nil)

func newSession(client func(mcp.Implementation)) *session {
	return &session{id: rand.Text(), notes: make(chan mcp.JSONRPCNotification, 64), client: client}
}

func (s *session) Initialize()       { s.ready.Store(true) }
func (s *session) Initialized() bool { return s.ready.Load() }
func (s *session) SessionID() string { return s.id }
func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification {
	return s.notes
}

// SetClientInfo learns who the client says it is: once with the handshake, or
// with every request since 2026-07-28.
func (s *session) SetClientInfo(info mcp.Implementation) {
	s.mu.Lock()
	known := s.info.Name == info.Name && s.info.Version == info.Version
	s.info = info
	s.mu.Unlock()
	if !known && s.client != nil {
		s.client(info)
	}
}

func (s *session) GetClientInfo() mcp.Implementation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

func (s *session) SetClientCapabilities(c mcp.ClientCapabilities) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caps = c
}

func (s *session) GetClientCapabilities() mcp.ClientCapabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.caps
}
