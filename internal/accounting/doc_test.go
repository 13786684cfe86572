// Package accounting holds no code, only tests: it runs the built program as a
// team would, several processes at once, breaks what can break, and afterwards
// asks of every job and of every intent what became of it.
//
// Guarantee: a job that ran once too often, that is lost, that ran and is called
// unsent, that was sent against the policy or with other bytes than those of its
// plan, and an intent without an outcome, each fails the test; crooked programs
// show that each of these is found (liar_test.go).
//
// Limit: processes, servers and disks are broken by signals and by want of
// room, not by loss of power. A seed repeats what is chosen, not the moments at
// which the machine lets it happen.
package accounting

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

var (
	fireFor  = flag.Duration("fire", 0, "burn each store for this `long`, in rounds; 0 burns one short round")
	fireSeed = flag.Uint64("seed", 0, "the `number` that choices follow; 0 takes a new one")
)

// TestMain is also the crooked programs of liar_test.go and the executor of
// steps_test.go.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(liarVariable) != "":
		os.Exit(lie(os.Getenv(liarVariable)))
	case os.Getenv(stepVariable) != "":
		os.Exit(stepper())
	}
	code := m.Run()
	if path, err := program(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// program builds the program once; with the race detector where the tests have
// it, which also spares compiling everything twice.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "redrive-fire-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "redrive-mcp")
	args := append([]string{"build", "-o", path}, buildFlags...)
	build := exec.Command("go", append(args, ".")...)
	build.Dir = "../.." // a test runs in its package's folder
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the program: %w\n%s", err, out)
	}
	return path, nil
})

// seeded is the seed of a test, told to whoever wants to repeat it.
func seeded(t *testing.T) uint64 {
	seed := *fireSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed=%d", seed)
	return seed
}

// chooser makes the source of one actor's choices.
func chooser(seed uint64, actor int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(actor))) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
