package rawjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The reference works on decoded values and knows nothing of bytes: slow,
// plain, and written from the RFCs alone.

var errRef = errors.New("refused by the reference")

func refDecode(doc string) (any, error) {
	d := json.NewDecoder(strings.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errRef
	}
	return v, nil
}

func mustDecode(t testing.TB, doc string) any {
	t.Helper()
	v, err := refDecode(doc)
	if err != nil {
		t.Fatalf("result %q cannot be decoded: %v", doc, err)
	}
	return v
}

// refText is a canonical text: sorted names, numbers as written.
func refText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return b.String()
}

type refOp struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	From  *string         `json:"from,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

func refTokens(p string) ([]string, error) {
	if p == "" {
		return nil, nil
	}
	parts := strings.Split(p, "/")
	if parts[0] != "" {
		return nil, errRef
	}
	for i, s := range parts {
		out := ""
		for j := 0; j < len(s); j++ {
			if s[j] != '~' {
				out += s[j : j+1]
				continue
			}
			if j++; j == len(s) || s[j] != '0' && s[j] != '1' {
				return nil, errRef
			}
			out += map[byte]string{'0': "~", '1': "/"}[s[j]]
		}
		parts[i] = out
	}
	return parts[1:], nil
}

func refIndex(tok string, limit int) (int, bool) {
	for i := range limit {
		if strconv.Itoa(i) == tok {
			return i, true
		}
	}
	return 0, false
}

func refGet(v any, toks []string) (any, error) {
	for _, tok := range toks {
		switch c := v.(type) {
		case map[string]any:
			next, ok := c[tok]
			if !ok {
				return nil, errRef
			}
			v = next
		case []any:
			i, ok := refIndex(tok, len(c))
			if !ok {
				return nil, errRef
			}
			v = c[i]
		default:
			return nil, errRef
		}
	}
	return v, nil
}

// refEdit rebuilds everything on the way to toks and changes the last
// container by edit.
func refEdit(v any, toks []string, edit func(any, string) (any, error)) (any, error) {
	if len(toks) == 1 {
		return edit(v, toks[0])
	}
	child, err := refGet(v, toks[:1])
	if err != nil {
		return nil, err
	}
	if child, err = refEdit(child, toks[1:], edit); err != nil {
		return nil, err
	}
	return refSet(v, toks[0], child)
}

func refSet(v any, tok string, value any) (any, error) {
	if _, err := refGet(v, []string{tok}); err != nil {
		return nil, err
	}
	return refPut(v, tok, func(list []any, i int) []any { list[i] = value; return list }, value)
}

func refPut(v any, tok string, at func([]any, int) []any, value any) (any, error) {
	switch c := v.(type) {
	case map[string]any:
		out := map[string]any{tok: nil}
		for k, w := range c {
			out[k] = w
		}
		out[tok] = value
		return out, nil
	case []any:
		if i, ok := refIndex(tok, len(c)); ok {
			return at(slices.Clone(c), i), nil
		}
		if tok == "-" || tok == strconv.Itoa(len(c)) {
			return append(slices.Clone(c), value), nil
		}
	}
	return nil, errRef
}

func refAdd(v any, toks []string, value any) (any, error) {
	if len(toks) == 0 {
		return value, nil
	}
	return refEdit(v, toks, func(c any, tok string) (any, error) {
		return refPut(c, tok, func(list []any, i int) []any { return slices.Insert(list, i, value) }, value)
	})
}

func refRemove(v any, toks []string) (any, error) {
	if len(toks) == 0 {
		return nil, errRef
	}
	return refEdit(v, toks, func(c any, tok string) (any, error) {
		if _, err := refGet(c, []string{tok}); err != nil {
			return nil, err
		}
		if list, ok := c.([]any); ok {
			i, _ := refIndex(tok, len(list))
			return slices.Delete(slices.Clone(list), i, i+1), nil
		}
		out := map[string]any{}
		for k, w := range c.(map[string]any) {
			if k != tok {
				out[k] = w
			}
		}
		return out, nil
	})
}

func refReplace(v any, toks []string, value any) (any, error) {
	if len(toks) == 0 {
		return value, nil
	}
	return refEdit(v, toks, func(c any, tok string) (any, error) { return refSet(c, tok, value) })
}

func refApply(v any, op refOp) (any, error) {
	path, err := refTokens(op.Path)
	if err != nil {
		return nil, err
	}
	var value any
	if op.Op == "move" || op.Op == "copy" {
		from, err := refTokens(*op.From)
		if err != nil {
			return nil, err
		}
		if value, err = refGet(v, from); err != nil {
			return nil, err
		}
		if op.Op == "move" {
			return refMove(v, from, path, value)
		}
		return refAdd(v, path, value)
	}
	if op.Op != "remove" {
		if value, err = refDecode(string(op.Value)); err != nil {
			return nil, err
		}
	}
	switch op.Op {
	case "add":
		return refAdd(v, path, value)
	case "remove":
		return refRemove(v, path)
	case "replace":
		return refReplace(v, path, value)
	}
	have, err := refGet(v, path)
	if err != nil || !refEqual(have, value) {
		return nil, errRef
	}
	return v, nil
}

func refMove(v any, from, path []string, value any) (any, error) {
	if slices.Equal(from, path) {
		return v, nil
	}
	if len(path) > len(from) && slices.Equal(from, path[:len(from)]) {
		return nil, errRef
	}
	v, err := refRemove(v, from)
	if err != nil {
		return nil, err
	}
	return refAdd(v, path, value)
}

func refEqual(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		return ok && refSameNumber(string(x), string(y))
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k := range x {
			w, ok := y[k]
			if !ok || !refEqual(x[k], w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, refEqual)
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

func refSameNumber(a, b string) bool {
	x, ok := new(big.Rat).SetString(a)
	y, ok2 := new(big.Rat).SetString(b)
	return ok && ok2 && x.Cmp(y) == 0
}

// refMerge is the pseudo code of RFC 7396 §2.
func refMerge(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out := map[string]any{}
	if t, ok := target.(map[string]any); ok {
		for k, v := range t {
			out[k] = v
		}
	}
	for k, v := range p {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = refMerge(out[k], v)
		}
	}
	return out
}

// cheapNumbers says whether math/big can compare the numbers in doc at once.
func cheapNumbers(doc string) bool {
	for i, c := range doc {
		if (c == 'e' || c == 'E') && i+4 < len(doc) {
			digits := strings.TrimLeft(doc[i+1:], "+-")
			if len(digits) > 3 && strings.Trim(digits[:4], "0123456789") == "" {
				return false
			}
		}
	}
	return true
}
