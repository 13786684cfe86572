package args

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// eachMember calls f for every member of a JSON object that was found valid.
func eachMember(object jsontext.Value, f func(name string, value jsontext.Value)) {
	d := jsontext.NewDecoder(bytes.NewBuffer(object))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return
	}
	for d.PeekKind() != '}' {
		t, err := d.ReadToken()
		if err != nil {
			return
		}
		name := t.String() // the token is gone after the next read
		value, err := d.ReadValue()
		if err != nil {
			return
		}
		f(name, value.Clone())
	}
}

// eachItem calls f for every item of a JSON array that was found valid, until f
// says no.
func eachItem(array jsontext.Value, f func(i int, value jsontext.Value) bool) {
	d := jsontext.NewDecoder(bytes.NewBuffer(array))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '[' {
		return
	}
	for i := 0; d.PeekKind() != ']'; i++ {
		value, err := d.ReadValue()
		if err != nil || !f(i, value.Clone()) {
			return
		}
	}
}

func length(array jsontext.Value) (n int) {
	eachItem(array, func(int, jsontext.Value) bool { n++; return true })
	return n
}

// text is the value of a JSON string that was found valid.
func text(v jsontext.Value) string {
	s, _ := jsontext.AppendUnquote(nil, v)
	return string(s)
}
