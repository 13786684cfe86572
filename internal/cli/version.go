package cli

import (
	"context"
	"flag"
	"runtime"
	"runtime/debug"
)

func versionCommand() command {
	return command{
		name: "version", part: partMore,
		short:   "print the version",
		long:    "Prints the version, the commit it was built from, and the Go release. It opens nothing.",
		example: "redrive-mcp version\nredrive-mcp version --json",
		setup: func(a *app, f *flag.FlagSet) action {
			a.jsonFlag(f)
			return func(context.Context, []string) error { return a.printVersion() }
		},
	}
}

type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Changed bool   `json:"changed,omitempty"` // built from files that no commit holds
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func (a *app) printVersion() error {
	v := versionInfo{Version: a.version(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Commit = s.Value
			case "vcs.modified":
				v.Changed = s.Value == "true"
			}
		}
	}
	if a.json {
		return a.printJSON(v)
	}
	a.printf("%s %s (%s, %s/%s)\n", program, v.Version, v.Go, v.OS, v.Arch)
	return nil
}

// version is the release's, else the one that the Go toolchain noted.
func (a *app) version() string {
	if a.Version != "" {
		return a.Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
