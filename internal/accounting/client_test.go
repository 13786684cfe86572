package accounting

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// client is an agent's connection to a `serve` of its own.
type client struct {
	p     *process
	in    io.WriteCloser
	lines chan []byte // closed when the server is gone
	next  int
}

// errGone means that the server ended before it answered.
var errGone = errors.New("the server is gone")

const hello = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"fire","version":"1"}}`

func (w *world) connect(principal string) (*client, error) {
	out, wire := io.Pipe()
	p, in, err := w.start("serve", wire, "serve", "--principal", principal)
	if err != nil {
		return nil, err
	}
	c := &client{p: p, in: in, lines: make(chan []byte, 64)}
	go func() { <-p.ended; wire.Close() }()
	go func() {
		defer close(c.lines)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			c.lines <- line
		}
	}()
	if _, err := c.ask("initialize", json.RawMessage(hello)); err != nil {
		return nil, err
	}
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return c, err
}

// ask sends a request and waits for its answer.
func (c *client) ask(method string, params any) (json.RawMessage, error) {
	c.next++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.next, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return nil, errGone
	}
	hangs := time.NewTimer(patience)
	defer hangs.Stop()
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				return nil, errGone
			}
			var answer struct {
				ID     int
				Result json.RawMessage
				Error  *struct{ Message string }
			}
			if err := json.Unmarshal(line, &answer); err != nil {
				return nil, fmt.Errorf("%q is no answer: %w", line, err)
			}
			if answer.ID != c.next {
				continue
			}
			if answer.Error != nil {
				return nil, refusal(answer.Error.Message)
			}
			return answer.Result, nil
		case <-hangs.C:
			return nil, fmt.Errorf("%s was not answered within %s", method, patience)
		}
	}
}

// refusal is a tool's no.
type refusal string

func (r refusal) Error() string { return string(r) }

type arguments map[string]any

// call calls a tool and decodes its answer into out.
func (c *client) call(tool string, args arguments, out any) error {
	raw, err := c.ask("tools/call", map[string]any{"name": tool, "arguments": args})
	if err != nil {
		return err
	}
	var result struct {
		IsError           bool
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return fmt.Errorf("%s: %w", tool, err)
	}
	if result.IsError {
		return refusal(result.Content[0].Text)
	}
	return json.Unmarshal(result.StructuredContent, out)
}

// leave ends the session as a client does, or as one that dies.
func (c *client) leave(violently bool) {
	if violently {
		c.p.kill()
	}
	c.in.Close()
	<-c.p.ended
}
