package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/cli/config"
	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
)

// TestPrometheusScrapesTheDaemon: a real Prometheus, with the configuration and rules of contrib,
// gets the figures of a daemon on the fake driver, and knows that it is up.
func TestPrometheusScrapesTheDaemon(t *testing.T) {
	needs.Full(t)
	prometheus := needs.Tool(t, "prometheus")
	exported := config.Defaults().Processes + 1 // processes of a GPU: the limit, and one more for the sum of the rest
	directory := t.TempDir()
	state := filepath.Join(directory, "state")
	box := fakedriver.Box(2, 20)
	if err := box.Write(state); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := taken.Addr().String()
	_ = taken.Close()
	library := fakedriver.Build(t, fakedriver.Current)
	d := startDaemon(t, fakedriver.Environment(library, state), "--nvml-library", library, "--serve", address)
	d.wait("READY", func() bool { return d.notified("READY=1", 1) })

	content, err := os.ReadFile(filepath.Join("..", "contrib", "prometheus", "prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("15s", "1s", "127.0.0.1:9841", address, "rules.yml", abs(t, "../contrib/prometheus/rules.yml")).Replace(string(content))
	config := filepath.Join(directory, "prometheus.yml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	listening, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	engine := listening.Addr().String()
	_ = listening.Close()
	cmd := exec.Command(prometheus, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(directory, "data"), "--web.listen-address="+engine)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // the test has ended
		_ = cmd.Wait()
	})
	ask := func(path string) string {
		resp, err := http.Get("http://" + engine + "/api/v1/" + path)
		if err != nil {
			return ""
		}
		defer func() { _ = resp.Body.Close() }()
		body, _ := io.ReadAll(resp.Body) // "" is asked again
		return string(body)
	}
	query := func(expression string) string {
		var answer struct {
			Data struct{ Result []struct{ Value []any } }
		}
		body := ask("query?query=" + url.QueryEscape(expression))
		if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Data.Result) != 1 {
			return body
		}
		return answer.Data.Result[0].Value[1].(string)
	}
	for _, c := range []struct{ expression, want string }{
		{`up{job="vramscope"}`, "1"},
		{`count(vramscope_gpu_state{state="ok"})`, "2"},
		{`count(vramscope_process_memory_used_bytes)`, fmt.Sprint(2 * exported)},
		// The series of the largest processes and of the rest add up to the used memory.
		{`sum(vramscope_gpu_memory_used_bytes) - sum(vramscope_gpu_memory_unattributed_bytes) - sum(vramscope_process_memory_used_bytes)`, "0"},
		{`count(gpu:vramscope_memory_used:ratio > 0.5)`, "2"},
		{`sum(instance_user:vramscope_memory_used_bytes:sum) / sum(vramscope_process_memory_used_bytes)`, "1"},
	} {
		got := ""
		if !eventually(func() bool { got = query(c.expression); return got == c.want }) {
			t.Errorf("%s is %s, not %s", c.expression, got, c.want)
		}
	}
	if targets := ask("targets"); !strings.Contains(targets, `"health":"up"`) || strings.Contains(targets, `"health":"down"`) {
		t.Errorf("targets: %s", targets)
	} else {
		t.Logf("targets: %s", targets)
	}
	d.end()
}

func abs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
