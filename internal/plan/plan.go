package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Version of the format that this package writes.
const Version = 1

// Plan names everything that a decision is about. Text in it is UTF-8 and may be
// anybody's: Statement makes it fit to be read.
type Plan struct {
	V           int       `json:"v"`
	ID          string    `json:"id"`   // the request: r-…
	Mode        string    `json:"mode"` // direct or approval
	Queue       string    `json:"queue"`
	Target      string    `json:"target"`      // the store really connected to
	Physical    string    `json:"physical"`    // the physical queue that limits count on
	Destination string    `json:"destination"` // where the messages go
	Effect      string    `json:"effect"`      // what a redrive does in this store
	Attempts    string    `json:"attempts"`    // reset, keep or a number
	Policy      string    `json:"policy"`      // digest
	Rule        string    `json:"rule"`
	Need        Need      `json:"need"`
	Requester   Requester `json:"requester"`
	Reason      string    `json:"reason"`
	Fix         *Fix      `json:"fix,omitempty"`
	Group       string    `json:"group,omitempty"`       // error group, if one was named
	GroupLabel  string    `json:"group_label,omitempty"` // the store's words
	Patch       []string  `json:"patch,omitempty"`       // paths that differ
	Body        bool      `json:"body,omitempty"`        // the whole body is replaced
	Hidden      int       `json:"hidden,omitempty"`      // values that were hidden from the requester
	Rate        float64   `json:"rate,omitempty"`        // messages a second, 0: as fast as it goes
	PerHour     int       `json:"per_hour,omitempty"`    // of a direct redrive
	Created     time.Time `json:"created"`
	Expires     time.Time `json:"expires"`   // a pending plan is decided until then
	NotAfter    time.Time `json:"not_after"` // nothing is sent later
	Nonce       string    `json:"nonce"`
	Items       []Item    `json:"items"`
}

// Need is what the policy demanded when the plan was made. The executor takes
// the stricter of this and what the policy demands then.
type Need struct {
	Effect     string        `json:"effect"` // direct or approval
	From       []string      `json:"from,omitempty"`
	Count      int           `json:"count,omitempty"`
	Proof      string        `json:"proof,omitempty"`
	Separation string        `json:"separation,omitempty"`
	ValidFor   time.Duration `json:"valid_for_ns,omitempty"`
}

// Requester is who asked, as declared.
type Requester struct {
	Kind      string `json:"kind"` // agent or person
	Principal string `json:"principal,omitempty"`
	Client    string `json:"client,omitempty"`
	Session   string `json:"session,omitempty"`
	OSUser    string `json:"os_user,omitempty"`
	Host      string `json:"host,omitempty"`
}

// Name is the requester in a statement: "agent claude-code 2.1 for luis".
func (r Requester) Name() string {
	name := r.Kind
	if r.Client != "" {
		name += " " + r.Client
	}
	if r.Principal != "" && r.Kind == "agent" {
		name += " for " + r.Principal
	} else if r.Principal != "" {
		name += " " + r.Principal
	}
	return name
}

// Fix is what was mended before the redrive was asked for.
type Fix struct {
	Ref string `json:"ref"`
	At  string `json:"at,omitempty"`
}

// Item is one death of one message. Before commits to its envelope, After to
// that envelope with another body; After is empty where nothing changes.
type Item struct {
	N      int    `json:"n"`
	ID     string `json:"id"`
	Mark   string `json:"mark"`
	Before string `json:"before"`
	After  string `json:"after,omitempty"`
}

// Encode freezes a plan: its bytes and their digest. Text that is not UTF-8 is
// refused: two such texts would be frozen to the same bytes.
func Encode(p *Plan) (data []byte, digest string, err error) {
	data, err = json.Marshal(p)
	if err != nil {
		return nil, "", fmt.Errorf("freezing plan %s: %w", Word(p.ID, 20), err)
	}
	if lossy(data) {
		return nil, "", fmt.Errorf("freezing plan %s: it holds text that is not UTF-8", Word(p.ID, 20))
	}
	return data, Digest(data), nil
}

// Decode reads a plan back. Bytes that Encode would not have written are
// refused, so that a plan has one spelling.
func Decode(data []byte) (*Plan, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var p Plan
	if err := dec.Decode(&p); err != nil {
		return nil, fmt.Errorf("reading a plan: %w", err)
	}
	if p.V != Version {
		return nil, fmt.Errorf("reading a plan: version %d is not %d", p.V, Version)
	}
	again, _, err := Encode(&p)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, data) {
		return nil, fmt.Errorf("reading plan %s: its bytes are not what was frozen", Word(p.ID, 20))
	}
	return &p, nil
}

// Digest is the SHA-256 of a plan's bytes in hexadecimal.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Short is the form of a digest that people compare: 80 bits in groups of four.
func Short(digest string) string {
	var b []byte
	for i := 0; i < 20 && i < len(digest); i++ {
		if i > 0 && i%4 == 0 {
			b = append(b, '-')
		}
		b = append(b, digest[i])
	}
	return string(b)
}
