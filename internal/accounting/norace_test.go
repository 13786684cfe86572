//go:build !race

package accounting

var buildFlags []string
