package sqstest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Proxy stands before a server, does to its calls what rules say, and remembers
// them. Without rules it changes nothing.
type Proxy struct {
	Server Server // the server, reached through the proxy

	behind string // the server's own endpoint
	client *http.Client
	open   context.Context // ends with the proxy

	mu    sync.Mutex
	rules []*standing
	calls []*Call
	clock int                 // counts beginnings and ends of calls
	owed  map[string][]rawObj // by queue: messages to hand out once more
}

// Answer is what a server says to a call.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// NewProxy starts one, which ends with its test. It cannot stand before AWS,
// which checks to whom a request is signed.
func NewProxy(t testing.TB, s Server) *Proxy {
	t.Helper()
	if s.Endpoint == "" {
		t.Fatalf("no proxy stands before %s", s.Name)
	}
	open, end := context.WithCancel(context.Background())
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true,
		IdleConnTimeout: 2 * time.Second} // local-aws-sqs closes an idle connection after five
	p := &Proxy{Server: s, behind: s.Endpoint, client: &http.Client{Transport: transport}, open: open, owed: map[string][]rawObj{}}
	front := httptest.NewServer(http.HandlerFunc(p.serve))
	p.Server.Endpoint = front.URL
	t.Cleanup(func() {
		end()
		front.CloseClientConnections()
		front.Close()
		transport.CloseIdleConnections()
	})
	return p
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client went away in the middle
	}
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	x := &Exchange{Call: &Call{Action: action, Queue: queueOf(body), Request: body}, Body: body, proxy: p, header: r.Header, gone: r.Context()}
	answer := x.run(p.arrive(x))
	p.leave(x, answer)
	if answer == nil {
		panic(http.ErrAbortHandler) // closes the connection without a word
	}
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(answer.Body)))
	w.WriteHeader(answer.Status)
	w.Write(answer.Body)
}

// forward asks the server. It has no answer when the server has none. A client
// that goes away does not keep the server from what it was asked to do.
func (p *Proxy) forward(x *Exchange) *Answer {
	r, err := http.NewRequestWithContext(p.open, http.MethodPost, p.behind+"/", bytes.NewReader(realHandles(x)))
	if err != nil {
		return nil
	}
	for _, name := range []string{"X-Amz-Target", "Content-Type", "Authorization", "X-Amz-Date", "X-Amzn-Query-Mode", "User-Agent"} {
		if value := x.header.Get(name); value != "" {
			r.Header.Set(name, value)
		}
	}
	got, err := p.client.Do(r)
	if err != nil {
		return nil
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		return nil
	}
	header := got.Header.Clone()
	for _, name := range []string{"Connection", "Keep-Alive", "Transfer-Encoding", "Content-Length"} {
		header.Del(name)
	}
	return &Answer{Status: got.StatusCode, Header: header, Body: body}
}
