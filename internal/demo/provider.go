package demo

import (
	"encoding/json"
	"fmt"
)

// provider is the payment provider and the video library in one.
type provider struct{ down bool }

// run does one job. Its error is what the worker writes into the table.
func (p provider) run(id int64, kind, payload string) error {
	if kind == "transcode" {
		return fmt.Errorf("RuntimeError: ffmpeg: moov atom not found")
	}
	var c struct {
		Currency string `json:"currency"`
		Card     string `json:"card"`
		Note     string `json:"note"`
	}
	if err := json.Unmarshal([]byte(payload), &c); err != nil {
		return fmt.Errorf("ValueError: %w", err)
	}
	switch {
	case c.Currency != "EUR":
		return fmt.Errorf("ValueError: unknown currency %q, card %s, %q", c.Currency, c.Card, c.Note)
	case p.down && id%4 == 0:
		return fmt.Errorf("TimeoutError: no answer from the payment provider within 10s")
	case p.down:
		return fmt.Errorf("ProviderError: HTTP 429 Too Many Requests, charge %d", id)
	}
	return nil
}
