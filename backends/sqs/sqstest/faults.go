package sqstest

import (
	"net/http"
	"time"
)

// DropAnswer lets the server do what it was asked to, and closes the connection
// instead of telling.
func DropAnswer() Fault {
	return func(_ *Exchange, next func() *Answer) *Answer { next(); return nil }
}

// DropRequest closes the connection before the server sees the call.
func DropRequest() Fault {
	return func(*Exchange, func() *Answer) *Answer { return nil }
}

// Delay holds a call up before the server sees it; it never does if the client
// has gone away by then.
func Delay(d time.Duration) Fault {
	return func(x *Exchange, next func() *Answer) *Answer {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return next()
		case <-x.gone.Done():
		case <-x.proxy.open.Done():
		}
		return nil
	}
}

// Before runs something before the server sees a call, which waits for it.
func Before(f func()) Fault {
	return func(_ *Exchange, next func() *Answer) *Answer { f(); return next() }
}

// After runs something when the server has done what it was asked to and the
// client does not know it yet.
func After(f func()) Fault {
	return func(_ *Exchange, next func() *Answer) *Answer { a := next(); f(); return a }
}

// Status answers as a server in trouble does, and does not ask it.
func Status(status int) Fault {
	shape := map[int]string{http.StatusInternalServerError: "InternalFailure", http.StatusServiceUnavailable: "ServiceUnavailable"}[status]
	return Error(status, shape, shape, "the service has a fault of its own")
}
