package cli

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"vramscope/cli/command"
)

// exported returns what the daemon serves at a path, at the address that it logged last.
func (d *runningDaemon) exported(path string) (status int, body string) {
	d.Helper()
	var addresses [][]string
	d.wait("its address", func() bool { // READY can arrive before the log
		addresses = regexp.MustCompile(`exporting address=(\S+)`).FindAllStringSubmatch(d.logged(), -1)
		return len(addresses) > 0
	})
	resp, err := http.Get("http://" + addresses[len(addresses)-1][1] + path)
	if err != nil {
		d.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		d.Fatal(err)
	}
	return resp.StatusCode, string(content)
}

func TestDaemonExports(t *testing.T) {
	d := startDaemon(t, nil, "--demo", "--seed", "1", "--serve", "127.0.0.1:0", "--processes", "0", "--record")
	d.wait("READY", func() bool { return d.notified("READY=1", 1) })
	d.wait("figures", func() bool {
		_, text := d.exported("/metrics")
		return strings.Contains(text, "vramscope_gpu_memory_used_bytes{") && strings.Contains(text, `simulated="true"`) && strings.Contains(text, `pid="other"`) && strings.Contains(text, "\nvramscope_recording_paused 0\n")
	})
	if status, text := d.exported("/healthz"); status != http.StatusOK || text != "ok\n" {
		t.Errorf("/healthz: %d, %s", status, text)
	}
	if status, _ := d.exported("/snapshot.json"); status != http.StatusNotFound {
		t.Errorf("/snapshot.json, which is off: %d", status)
	}

	// The log says why a configuration is refused.
	for _, c := range []struct{ content, want string }{
		{"[exporter]\nprocess_labels = ['uid']\n", "config.toml:2: exporter.process_labels: "},
		{"[exporter]\nweb_config_file = '" + d.home + "/none'\n", d.home + "/none: no such file"},
	} {
		d.configure(c.content)
		d.signal(syscall.SIGHUP)
		d.wait(c.want, func() bool { return strings.Contains(d.logged(), c.want) })
	}
	recordings := filepath.Join(d.home, "recordings")
	if err := errors.Join(os.Rename(recordings, recordings+".away"), os.WriteFile(recordings, nil, 0o600)); err != nil { // no folder to record into
		t.Fatal(err)
	}
	d.configure("[exporter]\nprocess_labels = ['none']\nsnapshot = true\n")
	d.signal(syscall.SIGHUP)
	d.wait("READY again", func() bool { return d.notified("RELOADING=1", 1) && d.notified("READY=1", 2) })
	if _, text := d.exported("/metrics"); !strings.Contains(text, "vramscope_gpu_memory_used_bytes{") || strings.Contains(text, "vramscope_process_") || !strings.Contains(text, "\nvramscope_recording_paused 1\n") {
		t.Errorf("after the reload:\n%.500s", text)
	}
	if status, text := d.exported("/snapshot.json"); status != http.StatusOK || !strings.Contains(text, "vramscope/1") {
		t.Errorf("/snapshot.json: %d, %.300s", status, text)
	}
	d.end()
}

func TestExporterAddressTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	address := taken.Addr().String()
	d := startDaemon(t, nil, "--demo")
	d.wait("READY", func() bool { return d.notified("READY=1", 1) })
	d.configure("[exporter]\naddress = '" + address + "'\n")
	d.signal(syscall.SIGHUP)
	d.wait("why the configuration is refused", func() bool {
		return strings.Contains(d.logged(), "the configuration is refused") && strings.Contains(d.logged(), "address already in use")
	})
	d.end()

	other := startDaemon(t, nil) // for its directories
	_ = other.cmd.Process.Kill()
	cmd := other.command("daemon", "--demo", "--serve", address)
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != command.ExitFailure || !strings.Contains(string(out), "--serve: listen tcp "+address+": bind: address already in use") {
		t.Errorf("%v, %s", err, out)
	}
}
