//go:build !unix

package sqljobs

import "io/fs"

// linked cannot be told here.
func linked(fs.FileInfo) bool { return false }

// fileNumber is empty where the file system shows none.
func fileNumber(fs.FileInfo) string { return "" }
