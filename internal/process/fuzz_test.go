package process

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// seeds adds the contents of the files, if they can be read on this machine.
func seeds(f *testing.F, paths ...string) {
	f.Helper()
	for _, path := range paths {
		if content, err := os.ReadFile(path); err == nil {
			f.Add(string(content))
		}
	}
}

var secret = regexp.MustCompile(`(?i)key|token|secret|passw(or)?d|credential`)

// FuzzEnvironment: the variables that are kept occur in the content, are sorted by name, and are no
// secrets.
func FuzzEnvironment(f *testing.F) {
	seeds(f, "/proc/self/environ")
	f.Add("CUDA_VISIBLE_DEVICES=0\x00CUDA_VISIBLE_DEVICES=1\x00VLLM_api_key=x\x00RANK\x00=RANK=1\x00TF_=")
	f.Add(strings.Repeat("\x00=", 50) + "NCCL_" + strings.Repeat("X", 100) + "=\x1b[2J")
	f.Fuzz(func(t *testing.T, content string) {
		entries := strings.Split(content, "\x00")
		kept := parseEnvironment([]byte(content))
		for i, v := range kept {
			if !slices.Contains(entries, v.Name+"="+v.Value) || strings.Contains(v.Name, "=") || secret.MatchString(v.Name) {
				t.Errorf("%q: kept %q", content, v)
			}
			if i > 0 && kept[i-1].Name > v.Name {
				t.Errorf("%q: %q after %q", content, v, kept[i-1])
			}
		}
		if job := jobIn([]byte(content), Job{}); job != (Job{}) && (!strings.Contains(content, job.ID) || !jobEnvironment.MatchString(job.Kind+" "+job.ID)) {
			t.Errorf("%q: %+v", content, job)
		}
		if rest := parseEnvironment([]byte("RANK=7\x00" + content)); len(rest) != len(kept)+1 {
			t.Errorf("%q: %d variables, one more makes %d", content, len(kept), len(rest))
		}
	})
}

// FuzzCommand: the arguments joined by NULs are the line without the NULs at its end, and the short
// form is not longer.
func FuzzCommand(f *testing.F) {
	seeds(f, "/proc/self/cmdline", "/proc/1/cmdline")
	f.Add("/usr/bin/python3\x00-u\x00-X\x00dev\x00/home/a/train.py\x00--cfg=/data/llama.yaml\x00/a:/b\x00")
	f.Add("nginx: worker process\x00\x00\x00\x00")
	f.Add("bash\x00-O\x00-c\x00--x=./../y\x00\xff\x1b]0;x\a")
	f.Fuzz(func(t *testing.T, line string) {
		args := parseCommand([]byte(line))
		joined := strings.Join(args, "\x00")
		if joined != strings.TrimRight(line, "\x00") || len(args) > 0 && args[len(args)-1] == "" {
			t.Errorf("%q: %q", line, args)
		}
		if short := ShortCommand(args, "name"); len(short) > max(len(joined), len("name")) || len(args) == 0 && short != "name" {
			t.Errorf("%q: %q", line, short)
		}
	})
}

var passwdLine = regexp.MustCompile(`^([^:]+):[^:]*:0*([0-9]{1,10}):`)

// TestLongPasswdLine: users that follow a long line keep their names.
func TestLongPasswdLine(t *testing.T) {
	names := map[uint32]string{}
	parsePasswd(strings.Repeat("x", 70000)+":x:1:\nlate:x:2:\n", names)
	if names[2] != "late" || len(names) != 2 {
		t.Errorf("%d users, the last is %q", len(names), names[2])
	}
}

// FuzzPasswd compares parsePasswd with a regular expression.
func FuzzPasswd(f *testing.F) {
	seeds(f, "/etc/passwd")
	f.Add("root:x:0:0::/:/bin/sh\n+::::::\nroot2:x:00:0\n:x:5:5\na:b:4294967296:\nb:\x00:4294967295:\r\n\xff:x:7:\x1b")
	f.Fuzz(func(t *testing.T, content string) {
		names, want := map[uint32]string{}, map[uint32]string{}
		parsePasswd(content, names)
		for _, line := range strings.Split(content, "\n") {
			match := passwdLine.FindStringSubmatch(line)
			if match == nil {
				continue
			}
			uid, err := strconv.ParseUint(match[2], 10, 32)
			if _, taken := want[uint32(uid)]; err == nil && !taken {
				want[uint32(uid)] = match[1]
			}
		}
		if len(names) != len(want) {
			t.Errorf("%q: %v, want %v", content, names, want)
		}
		for uid, name := range want {
			if names[uid] != name {
				t.Errorf("%q: %d is %q, want %q", content, uid, names[uid], name)
			}
		}
	})
}

var jobIDs = map[string]*regexp.Regexp{
	"slurm": regexp.MustCompile(`^([0-9]+|s[0-9A-HJKMNP-TV-Z]{13})$`),
	"pbs":   regexp.MustCompile(`^[0-9]+(\[[0-9]+\])?$`), "lsf": regexp.MustCompile(`^[0-9]+(\[[0-9]+\])?$`), "oar": regexp.MustCompile(`^[0-9]+$`),
	"htcondor": regexp.MustCompile(`^slot[0-9_]+$`),
	"ecs":      regexp.MustCompile(`^([0-9a-f-]{32}|[0-9a-f-]{36})$`), "nomad": regexp.MustCompile(`^[0-9a-f-]{8}$`),
	"lxc":     regexp.MustCompile(`^[0-9A-Za-z._-]+$`),
	"service": regexp.MustCompile(`^[^/]*$`),
	"pod":     regexp.MustCompile(`^([0-9a-f-]{32}|[0-9a-f-]{36})$`),
	"docker":  regexp.MustCompile(`^[0-9a-f]{12}$`), "podman": regexp.MustCompile(`^[0-9a-f]{12}$`), "containerd": regexp.MustCompile(`^[0-9a-f]{12}$`),
}

var jobEnvironment = regexp.MustCompile(`^(slurm [0-9]+|apptainer [^\x00]+)$`)

var jobDetail = regexp.MustCompile(`^[0-9a-z+]+$`)

// FuzzJob: a job's ID has the form that its kind requires and occurs in the path. Directories above
// and below that are not a job's do not change the job.
func FuzzJob(f *testing.F) {
	recorded, err := filepath.Glob("testdata/cgroup/*")
	if err != nil {
		f.Fatal(err)
	}
	seeds(f, append(recorded, "/proc/self/cgroup")...)
	f.Add("/slurm/job_" + strings.Repeat("9", 250) + "/pod" + strings.Repeat("_", 36) + "/docker/" + strings.Repeat("a", 64))
	f.Add("_.service")
	f.Add(`/pbspro.slice/pbspro-12\x5b3\x5d.server.slice`)
	f.Add("/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0+1")
	f.Add("/lxc.payload.team_train/x")
	f.Fuzz(func(t *testing.T, path string) {
		if strings.HasSuffix(path, "/lxc") || strings.HasSuffix(path, "/lxc.payload") {
			return // any directory in it is a container
		}
		job := jobOfPath(path)
		form, known := jobIDs[job.Kind]
		if job == (Job{}) {
			return
		}
		written := path
		if job.Kind == "pbs" || job.Kind == "lsf" { // systemd escapes the index of an array
			written = strings.NewReplacer(`\x5b`, "[", `\x5d`, "]").Replace(path)
		}
		if job.Kind == "pod" { // systemd writes a pod's uid with underscores
			written = strings.ReplaceAll(path, "_", "-")
		}
		if !known || !form.MatchString(job.ID) || !strings.Contains(written, job.ID) {
			t.Fatalf("%q: %+v", path, job)
		}
		for _, detail := range job.Details() {
			if _, value, _ := strings.Cut(detail, " "); !strings.Contains(path, value) || !jobDetail.MatchString(value) {
				t.Errorf("%q: %q", path, detail)
			}
		}
		for _, more := range []string{path + "/init.scope", "/user.slice/" + path} {
			if again := jobOfPath(more); again != job {
				t.Errorf("%q: %+v, but %q: %+v", path, job, more, again)
			}
		}
		both := "9:name=systemd:/\n1:pids:" + path + "\n0::" + path + "/x\n"
		if again := jobOf(both); again != job && !strings.Contains(path, "\n") {
			t.Errorf("%q: %+v among others, alone %+v", path, again, job)
		}
	})
}

// FuzzNames: a parsed namespace or host name occurs in the content that it was parsed from.
func FuzzNames(f *testing.F) {
	seeds(f, "/etc/hostname")
	f.Add("pid:[4026531836]")
	f.Fuzz(func(t *testing.T, content string) {
		if inode := parseNamespace(content); inode != 0 && strings.TrimLeft(strings.Trim(content, "pid:[]"), "0") != strconv.FormatUint(inode, 10) {
			t.Errorf("%q: namespace %d", content, inode)
		}
		if name := parseHostname([]byte(content)); name != "" && (!strings.Contains(content, name) || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") != "") {
			t.Errorf("%q: host %q", content, name)
		}
	})
}

// FuzzHost: memory and load are finite and not negative, and the used memory is at most the total.
func FuzzHost(f *testing.F) {
	memory, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		f.Skip("no /proc here")
	}
	f.Add(string(memory), "0.20 0.18 0.12 1/80 11206")
	f.Add("MemTotal: 18446744073709551615 kB\nMemAvailable: 1 kB\n", "NaN 1 1")
	f.Add("MemTotal: 36028797018963967 kB\nMemAvailable: 36028797018963968 kB\n", "-1e308 +Inf 0x1p-3")
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, memory, load string) {
		for name, content := range map[string]string{"meminfo": memory, "loadavg": load} {
			if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		table := NewTable(root)
		table.users.names[uint32(os.Geteuid())] = "me"
		host := table.Host(at(0))
		total, used := host.MemoryTotal.Or(0), host.MemoryUsed.Or(0)
		if total < 0 || used < 0 || used > total || host.MemoryUsed.Known() && !host.MemoryTotal.Known() {
			t.Errorf("%q: %d of %d", memory, used, total)
		}
		if value := host.Load.Or(0); math.IsNaN(value) || math.IsInf(value, 0) || value < 0 {
			t.Errorf("%q: load %v", load, value)
		}
	})
}
