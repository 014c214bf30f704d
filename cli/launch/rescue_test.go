package launch

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/cli/command"
	"vramscope/daemon/socket"
)

// TestRunIsNotHeldUpByADaemon that does not answer.
func TestRunIsNotHeldUpByADaemon(t *testing.T) {
	directory := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(directory, socket.Name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }() // nothing was accepted
	p := &command.Program{DaemonPlaces: []socket.Place{{Directory: directory, Owner: uint32(os.Geteuid())}}}
	began := time.Now()
	if who, err := rescuer(p); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("%q, %v", who, err)
	}
	if took := time.Since(began); took > 10*rescuerTime {
		t.Errorf("it took %s", took)
	}
}
