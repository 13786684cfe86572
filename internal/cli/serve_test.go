package cli_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestServeTerminated: SIGTERM is a good end for a server, also while its client
// holds the input open and says nothing.
func TestServeTerminated(t *testing.T) {
	dir := t.TempDir()
	text := strings.NewReplacer("$APP", fixtureBackend, "$WORK", dir).Replace(fixturePolicy)
	if err := os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "redrive-mcp", "serve", "--policy", "policy.yaml")
	cmd.Dir = dir
	var complaints strings.Builder
	cmd.Stderr = &complaints
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	if _, err := io.WriteString(in, hello+"\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(answer, `"serverInfo"`) {
		t.Fatalf("answer %q, %v", answer, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || complaints.Len() > 0 {
		t.Errorf("ended with %v, stderr %q", err, complaints.String())
	}
}
