package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// decode turns a line into a record that shares no bytes with it. It does not
// check the hash: that is Verify's work.
func decode(raw []byte) (Record, error) {
	var l line
	if err := l.scan(raw); err != nil {
		return Record{}, err
	}
	return l.record(raw)
}

func (l *line) record(raw []byte) (Record, error) {
	d := decoder{l: l}
	r := Record{
		V: int(d.number(keyV)), Seq: l.seq, Prev: d.str(keyPrev), TS: d.time(), Log: d.str(keyLog),
		Op: d.str(keyOp), Phase: d.str(keyPhase), Actor: d.str(keyActor), Client: d.str(keyClient),
		Session: d.str(keySession), Mode: d.str(keyMode), Proof: d.str(keyProof), Tool: d.str(keyTool),
		Args: d.args(), Queue: d.str(keyQueue), Items: d.items(), Policy: d.str(keyPolicy), Rule: d.str(keyRule),
		Effect: d.str(keyEffect), Why: d.str(keyWhy), Plan: d.str(keyPlan), Run: d.str(keyRun),
		Outcome: d.str(keyOutcome), Err: d.str(keyErr), DurMS: d.number(keyDurMS), Host: d.str(keyHost),
		PID: int(d.number(keyPID)), Hash: d.str(keyHash), Raw: bytes.Clone(raw),
	}
	return r, d.err
}

// decoder keeps the first error, so that a record reads as one expression.
type decoder struct {
	l   *line
	err error
}

func (d *decoder) fail(key int, err error) {
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("%w: %s: %w", errShape, keys[key], err)
	}
}

// str takes the bytes as they are where there is no escape, which is nearly
// always.
func (d *decoder) str(key int) string {
	raw := d.l.vals[key]
	if len(raw) == 0 {
		return ""
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	d.fail(key, json.Unmarshal(raw, &s))
	return s
}

func (d *decoder) number(key int) int64 {
	if d.l.vals[key] == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(d.l.vals[key]), 10, 64)
	d.fail(key, err)
	return n
}

func (d *decoder) time() time.Time {
	t, err := time.Parse(tsLayout, string(d.l.text(keyTS)))
	d.fail(keyTS, err)
	return t
}

func (d *decoder) items() []Item {
	if d.l.vals[keyItems] == nil {
		return nil
	}
	var items []Item
	d.fail(keyItems, json.Unmarshal(d.l.vals[keyItems], &items))
	return items
}

// args reads the object token by token because its order is kept.
func (d *decoder) args() []Arg {
	if d.l.vals[keyArgs] == nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(d.l.vals[keyArgs]))
	dec.UseNumber()
	_, err := dec.Token()
	var args []Arg
	for err == nil && dec.More() {
		var arg Arg
		if arg, err = nextArg(dec); err == nil {
			args = append(args, arg)
		}
	}
	d.fail(keyArgs, err)
	return args
}

func nextArg(dec *json.Decoder) (Arg, error) {
	key, err := dec.Token()
	if err != nil {
		return Arg{}, err
	}
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return Arg{}, err
	}
	name, _ := key.(string)
	value, err := argValue(raw)
	return Arg{name, value}, err
}

// argValue returns a number as int64, or as uint64 if it needs that; never as a
// float, which would change it.
func argValue(raw json.RawMessage) (any, error) {
	switch raw[0] {
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	case '[':
		var list []string
		err := json.Unmarshal(raw, &list)
		return list, err
	case 't', 'f':
		return raw[0] == 't', nil
	case '{':
		return nil, errors.New("an object among the arguments")
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, nil
	}
	return strconv.ParseUint(string(raw), 10, 64)
}
