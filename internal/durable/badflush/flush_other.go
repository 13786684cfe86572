//go:build !linux

package badflush

import "errors"

const wholeProcess = 0

func install(uintptr) error { return errors.ErrUnsupported }
