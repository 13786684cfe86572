// Command redrive-mcp lets an AI agent work a dead-letter queue, behind a gate:
// a policy says what may be sent, a person approves the rest, and every call is
// in an audit log that anyone can verify.
//
// This file is the only one that names a store. To add one, add it to the map.
package main

import (
	"os"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
	"github.com/redrive-mcp/redrive-mcp/backends/sqs"
	"github.com/redrive-mcp/redrive-mcp/internal/cli"
)

// version is set by a release's linker flags: -X main.version=1.2.3.
var version string

func main() {
	drivers := make(map[string]backends.Driver)
	for _, d := range []backends.Driver{sqljobs.Postgres(), sqljobs.SQLite(), sqs.Driver()} {
		drivers[d.Kind] = d
	}
	os.Exit(cli.Main(cli.Program{Drivers: drivers, Version: version}))
}
