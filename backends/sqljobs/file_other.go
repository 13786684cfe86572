//go:build !unix

package sqljobs

import "io/fs"

// fileNumber is empty where the file system shows none.
func fileNumber(fs.FileInfo) string { return "" }
