//go:build !linux

package badflush

import "errors"

const wholeProcess = 0

func install(Kind, uintptr) error { return errors.ErrUnsupported }
