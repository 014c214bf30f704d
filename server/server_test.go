package server

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"vramscope/internal/needs"
	"vramscope/internal/process"
)

func TestVersions(t *testing.T) {
	for version, want := range map[string]bool{
		"0.17.0": false, "0.17.0rc1": false, "0.16.9": true, "0.33.0.dev12+gabc": false, "1": false, "0": true, "dev": true, "": true, "0.17": false, "0.5.23": true, "17.0.0": false,
	} {
		if got := older(version, "0.17.0"); got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
}

func TestKindsByTheirCommandLines(t *testing.T) {
	for line, want := range map[string]string{
		"/usr/bin/python3 /opt/venv/bin/vllm serve Qwen/Qwen3-8B --port 8001": "vllm",
		"vllm serve m": "vllm",
		"python3 -m vllm.entrypoints.openai.api_server --model m": "vllm",
		"python3 -m sglang.launch_server --model-path m":          "sglang",
		"/venv/bin/sglang serve --model-path m":                   "sglang",
		"/usr/local/bin/ollama serve":                             "ollama",
		"/usr/bin/llama-server --models-dir m":                    "llama.cpp",
		"llama-swap --config c.yaml":                              "llama-swap",
		"python3 /home/bob/ComfyUI/main.py --listen":              "comfyui",
		"python3 main.py":                                         "",
		"/usr/local/bin/ollama runner --model x":                  "",
		"VLLM::EngineCore":                                        "",
		"python3 train.py":                                        "",
		"python3 notvllm serve":                                   "",
	} {
		if got := kindOf(strings.Fields(line)); got != want {
			t.Errorf("%s is %q", line, got)
		}
	}
}

// started starts a server, with through as a wrapper, which listens on the addresses among the
// arguments. It returns the server's child.
func started(t *testing.T, name string, through []string, arguments ...string) process.Identity {
	t.Helper()
	script := filepath.Join(t.TempDir(), name)
	const listens = `import shutil, socket, subprocess, sys, time
for address in sys.argv[2:]:
    if address.startswith("--port"): continue
    s = socket.socket(); s.bind((address, 0)); s.listen(); globals()[address + str(len(globals()))] = s
name = "llama-server" if sys.argv[0].endswith("llama-swap") else "sleep"
child = subprocess.Popen([name, "1000"], executable=shutil.which("sleep"))
print(child.pid, flush=True)
time.sleep(1000)`
	if err := os.WriteFile(script, []byte(listens), 0o600); err != nil {
		t.Fatal(err)
	}
	words := slices.Concat(through, []string{"python3", script, "serve"}, arguments)
	command := exec.Command(words[0], words[1:]...)
	command.Env, command.SysProcAttr = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1"), &syscall.SysProcAttr{Setpgid: true}
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		needs.Missing(t, "python3 is missing: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL); _ = command.Wait() }) // also the wrapper's child
	line := make([]byte, 32)
	n, _ := out.Read(line)
	table := process.NewTable("/proc")
	id, err := table.Identify(atoi(strings.TrimSpace(string(line[:n]))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if child, err := os.FindProcess(id.PID); err == nil {
			_ = child.Kill()
		}
	})
	return id
}

func atoi(digits string) (n int) {
	for _, c := range digits {
		n = n*10 + int(c-'0')
	}
	return n
}

// TestServersAreFoundAboveTheirProcesses: servers are found by the command line and the port, even if
// a child holds the memory.
func TestServersAreFoundAboveTheirProcesses(t *testing.T) {
	f := &Finder{Table: process.NewTable("/proc")}
	for name, c := range map[string]struct {
		program string
		through []string
		listens []string
		base    string
		refused string
	}{
		"loopback":      {"vllm", nil, []string{"127.0.0.1"}, "http://127.0.0.1:", ""},
		"all addresses": {"sglang", nil, []string{"0.0.0.0"}, "http://127.0.0.1:", ""},
		"its own":       {"vllm", nil, []string{"127.0.0.2"}, "http://127.0.0.2:", ""},
		"two ports":     {"vllm", nil, []string{"127.0.0.1", "127.0.0.1"}, "", "it listens on 2 ports, none of them 8000"},
		"another two":   {"vllm", nil, []string{"127.0.0.1", "127.0.0.1", "--port=9"}, "", "it listens on 2 ports, none of them 9"},
		"none":          {"vllm", nil, nil, "", "it listens on no port that is seen from here"},
		"of another":    {"llama-swap", nil, []string{"127.0.0.1"}, "http://127.0.0.1:", ""},
		"no server":     {"train.py", nil, []string{"127.0.0.1"}, "", "is of no server that is known"},
		"a wrapper":     {"vllm", []string{"timeout", "1000"}, []string{"127.0.0.1"}, "http://127.0.0.1:", ""},
	} {
		id := started(t, c.program, c.through, c.listens...)
		s, err := f.Find(id)
		switch {
		case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: %v", name, err)
		case c.refused == "" && (err != nil || !strings.HasPrefix(s.asker.base, c.base) || !f.Below(s.Process.PID)[id.Key()] || s.Process.PID == id.PID || s.Key != c.program || s.Ended(id)):
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

func TestKeysAreReadFromFilesAndTheEnvironment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	t.Setenv("A_KEY", "of the environment")
	if err := os.WriteFile(path, []byte("of the file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		entry Entry
		want  string
	}{{Entry{KeyFile: path}, "of the file"}, {Entry{KeyEnv: "A_KEY"}, "of the environment"}, {Entry{}, ""}} {
		if key, err := c.entry.key(); key != c.want || err != nil {
			t.Errorf("%+v: %q, %v", c.entry, key, err)
		}
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := (&Entry{KeyFile: path}).key(); err == nil || !strings.Contains(err.Error(), "can be read by others: chmod 600 it") {
		t.Error(err)
	}
}

// TestAnswersAreBounded: an endless answer is cut off, and a redirect to another place is not
// followed.
func TestAnswersAreBounded(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	answers := make(chan string, 2)
	answers <- "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/elsewhere\r\nContent-Length: 0\r\n\r\n"
	answers <- "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("y", 8<<20)
	go func() {
		for answer := range answers {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_ = connection.SetDeadline(time.Now().Add(time.Minute))
			_, _ = connection.Read(make([]byte, 4096))
			_, _ = connection.Write([]byte(answer)) // it is cut off
			_ = connection.Close()
		}
	}()
	a := &asker{base: "http://" + listener.Addr().String()}
	if _, err := a.ask(t.Context(), "GET", step{path: "/x"}); !isStatus(err, 302) {
		t.Errorf("a redirect: %v", err)
	}
	if content, err := a.ask(t.Context(), "GET", step{path: "/x"}); len(content) != longestAnswer || err != nil {
		t.Errorf("%d bytes, %v", len(content), err)
	}
	a.key = strings.Repeat("k", 64)
	answers <- "HTTP/1.1 500 No\r\n\r\n" + strings.Repeat("y", 180) + a.key
	if _, err := a.ask(t.Context(), "GET", step{path: "/x"}); !isStatus(err, 500) || strings.Contains(err.Error(), "kk") {
		t.Errorf("an answer with the key: %v", err)
	}
	close(answers)
}

// TestOthersServersAreRefused: another user's server is refused, unless root asks and the server was started with
// VRAMSCOPE_SLEEP=root.
func TestOthersServersAreRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it starts another user's process")
	}
	f := &Finder{Table: process.NewTable("/proc"), Entries: []Entry{{Matches: regexp.MustCompile("sleep"), Kind: Paths, Address: "127.0.0.1:1", KeyEnv: "HOME"}}}
	for variable, want := range map[string]string{"VRAMSCOPE_SLEEP=all": "another user's server is asked by root alone, and only where", "VRAMSCOPE_SLEEP=root": "is of no server that is known"} {
		command := exec.Command("sleep", "1000")
		command.Env = []string{variable}
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		id, err := f.Table.Identify(command.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := f.Find(id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", variable, s, err)
		}
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
	}
}
