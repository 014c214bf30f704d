//go:build linux

package attach

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"vramscope/internal/process"
)

var mapsLine = regexp.MustCompile(`^([0-9a-f]{1,16})-([0-9a-f]{1,16}) ([rwxsp-]{4}) ([0-9a-f]{1,16}) [0-9a-f]{2,}:[0-9a-f]{2,} [0-9]+(?: +(.*))?$`)

// FuzzMaps: parseMaps reads lines in the kernel's form as a regular expression does.
// Other lines may contain anything.
func FuzzMaps(f *testing.F) {
	if own, err := os.ReadFile("/proc/self/maps"); err == nil {
		f.Add(string(own[:min(len(own), 2000)]))
	}
	f.Add("00400000-00401000 r-xp 00000000 fe:01 123                                /x y (deleted)\n")
	f.Add("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n0-1 rwxp 0 0:0 0 /\n1-0 r 0 0 0\n")
	f.Add(strings.Repeat("1-2 r-xp 0 00:00 0 /a\n1-2 r-xp 0 00:00 0 /b\n", 50))
	f.Fuzz(func(t *testing.T, content string) {
		all := parseMaps(content)
		lines := strings.Split(content, "\n")
		if len(all) > len(lines) {
			t.Fatalf("%q: %d mappings", content, len(all))
		}
		for _, m := range all {
			if m.end < m.start || m.path != "" && !strings.HasPrefix(m.path, "/") {
				t.Errorf("%q: %+v", content, m)
			}
			if below := spaceBelow(all, m.start); below > m.start {
				t.Errorf("%q: %#x below %#x", content, below, m.start)
			}
		}
		for _, line := range lines {
			match := mapsLine.FindStringSubmatch(line)
			if match == nil {
				continue
			}
			var want mapping
			for i, to := range map[int]*uint64{1: &want.start, 2: &want.end, 4: &want.offset} {
				*to, _ = strconv.ParseUint(match[i], 16, 64) // sixteen digits always fit
			}
			want.code = strings.Contains(match[3], "x")
			if strings.HasPrefix(match[5], "/") {
				want.path = strings.TrimSuffix(match[5], " (deleted)")
			}
			if want.end >= want.start && !slices.Contains(all, want) {
				t.Errorf("%q: %+v is missing", line, want)
			}
		}
		seen := map[string]bool{}
		for _, path := range files(all) {
			if seen[path] || path == "" {
				t.Errorf("%q: %q twice", content, path)
			}
			seen[path] = true
		}
	})
}

var uidLine = regexp.MustCompile(`(?m)^Uid:(.*)$`)

// FuzzStatus: what is read from status and syscall is in the kernel's ranges, and does not depend on
// lines before it.
func FuzzStatus(f *testing.F) {
	for _, path := range []string{"/proc/self/status", "/proc/1/status", "/proc/self/syscall"} {
		if content, err := os.ReadFile(path); err == nil {
			f.Add(string(content))
		}
	}
	const needed = "State:\tt (tracing stop)\nTracerPid:\t12\nUid:\t1\t2\t3\t4\nSigBlk:\t0\nSigCgt:\tf\nCapEff:\t0\n"
	f.Add(needed)
	f.Add(strings.Replace(needed, "12", "9223372036854775808", 1) + "Threads:\t18446744073709551615\n")
	f.Add(strings.Replace(needed, "\t2", "\t4294967296", 1))
	f.Add(strings.Replace(needed, "State", "SigBlk", 1))
	f.Add("202 0x1 0x189 0x0 0x0 0x0 0xffffffff 0x7ffe 0x7f11\n")
	f.Fuzz(func(t *testing.T, content string) {
		if s, err := parseStatus(content); err == nil {
			if strings.IndexByte(content, s.state) < 0 || s.tracer < 0 || s.threads < 0 {
				t.Errorf("%q: %+v", content, s)
			}
			users := uidLine.FindAllStringSubmatch(content, -1)
			for i, uid := range s.uids {
				word := strings.Fields(users[len(users)-1][1])[i]
				if strings.TrimLeft(word, "0") != strings.TrimLeft(strconv.FormatUint(uint64(uid), 10), "0") {
					t.Errorf("%q: user %d is %d", content, i, uid)
				}
			}
			again, err := parseStatus("Name:\tx\nSigQ:\t1/2\n" + content)
			if err != nil || again != s {
				t.Errorf("%q: %+v, after other lines %+v, %v", content, s, again, err)
			}
		}
		if s, ok := parseSyscall(content); ok {
			line := fmt.Sprintf("%d %#x %#x", s.call, s.stack, s.counter)
			if s.call >= 0 {
				line = fmt.Sprintf("%d %#x %#x %#x %#x %#x %#x %#x %#x", s.call, s.args[0], s.args[1], s.args[2], s.args[3], s.args[4], s.args[5], s.stack, s.counter)
			}
			if again, ok := parseSyscall(line); !ok || again != s || s.call < -1 {
				t.Errorf("%q: %+v, written as %q: %+v", content, s, line, again)
			}
		}
	})
}

var threadLine = regexp.MustCompile(`Thread ([0-9]+) has target id '`)

// FuzzGdb: a number is one that gdb has written, and a complaint is one short line.
func FuzzGdb(f *testing.F) {
	f.Add("(gdb) (gdb) Thread 1 has target name 'bash'\nThread 1 has target id 'Thread 0x7f8af934f740 (LWP 17561)'\n[Inferior 1 (process 17561) detached]\n", 17561)
	f.Add("Thread 3 has target id 'LWP 5'\nThread 2 has target id 'process 5'\nwarning: \n(gdb) page 0x7f0000001000\nruns 1\nstarted 0\n", 5)
	f.Add("page 0xffffffffffffffff\nruns 0\nstarted 11\nstarted 99999999999999999999", 0)
	f.Add("ptrace: Operation not permitted.\n"+strings.Repeat("\x1b[2J字", 100), -1)
	f.Add("GNU gdb (Debian 13.1-3) 13.1\nCopyright", 1)
	f.Add(strings.Repeat("Thread 1 has target id 'x(LWP ", 60), 7)
	f.Fuzz(func(t *testing.T, output string, id int) {
		if number := numberOf(thread{id: id}, output); number != "" {
			found := slices.ContainsFunc(strings.Split(output, "\n"), func(line string) bool {
				match := threadLine.FindStringSubmatch(line)
				return match != nil && match[1] == number && strings.Contains(line, " "+strconv.Itoa(id))
			})
			if !found {
				t.Errorf("%q: thread %d is number %q", output, id, number)
			}
		}
		for _, word := range []*regexp.Regexp{mappedPage(), startedThread(), pythonRuns()} {
			n, ok := numberAfter(word, output)
			if ok && (n > 1<<63-1 || !strings.Contains(output, strconv.FormatUint(n, 10)) && !strings.Contains(output, strconv.FormatUint(n, 16))) {
				t.Errorf("%q: %d", output, n)
			}
		}
		for _, text := range []string{complaint(output), firstLines(output)} {
			if len(text) > 303 || strings.ContainsAny(text, "\r\n") || utf8.ValidString(output) && !utf8.ValidString(text) {
				t.Errorf("%q: %q", output, text)
			}
		}
		if v := gdbVersion(output); v != "" && (!strings.Contains(output, v) || strings.ContainsAny(v, " \n")) {
			t.Errorf("%q: version %q", output, v)
		}
	})
}

// FuzzPythonNames: a version has the numbers of the name, and a name of Python has only characters
// that a shell does not interpret.
func FuzzPythonNames(f *testing.F) {
	for _, name := range []string{"python3.9", "python3.13t", "python3.9.so.1.0", "python3.-9", "python+3.9", "python3.99999999999", "Python 3.15.0a1+", "Python 3.9.18\n", "Python -3.-9.-1"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		v, named := versionInName(name)
		printed, ok := parseVersion(name)
		if named && (v.major < 0 || v.minor < 0 || v.micro != -1 || !strings.Contains(name, strconv.Itoa(v.minor))) ||
			ok && (printed.major < 0 || printed.minor < 0 || printed.micro < 0) {
			t.Errorf("%q: %+v, %+v", name, v, printed)
		}
		if ok && !strings.Contains(strings.ReplaceAll(name, "0", ""), strings.ReplaceAll(fmt.Sprintf("%d.%d.%d", printed.major, printed.minor, printed.micro), "0", "")) {
			t.Errorf("%q: %v", name, printed)
		}
		if isPythonName(base(name)) && strings.Trim(base(name), plainWord) != "" {
			t.Errorf("%q is a name of Python", name)
		}
		if again, _ := versionInName("python" + v.String()); named && v.known() && again != v {
			t.Errorf("%q: %v, then %v", name, v, again)
		}
	})
}

// FuzzCgroupFiles: no path of a process's cgroups leads out of their mount point.
func FuzzCgroupFiles(f *testing.F) {
	f.Add("6:freezer:/pod\n0::/\n")
	f.Add("0::/../../../etc/x:y\n4:freezer:../../..\n::\n:::::\n")
	f.Fuzz(func(t *testing.T, content string) {
		all := freezers(content)
		if len(all) > 2*strings.Count(content, ":")/2+2 {
			t.Errorf("%q: %d files", content, len(all))
		}
		for _, path := range all {
			joined := filepath.Join("/sys/fs/cgroup", path)
			if !strings.HasPrefix(joined, "/sys/fs/cgroup/") || filepath.Base(joined) != "cgroup.events" && filepath.Base(joined) != "freezer.state" {
				t.Errorf("%q: %q", content, joined)
			}
		}
	})
}

// plainWord lists the characters that a shell does not interpret.
const plainWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+/:@%=,"

var quotedWords = regexp.MustCompile(`'[^']*'|\\'`)

// FuzzStart: an option that disables remote debugging is found only if it is in the
// command line, and a variable's value only if it is in the environment.
func FuzzStart(f *testing.F) {
	f.Add("python3\x00-X\x00disable_remote_debug\x00x.py")
	f.Add("python3\x00-Xdisable_remote_debug=1\x00-c\x00x")
	f.Add("python3\x00x.py\x00-X\x00disable_remote_debug")
	f.Add("PYTHON_DISABLE_REMOTE_DEBUG=\x00LD_LIBRARY_PATH=/x\x00LD_LIBRARY_PATH=/y\x00")
	f.Fuzz(func(t *testing.T, content string) {
		words := strings.Split(content, "\x00")
		option := slices.IndexFunc(words, func(word string) bool { return strings.Contains(word, "disable_remote_debug") })
		if disables(words) {
			script := slices.IndexFunc(words[min(1, len(words)):], func(word string) bool { return !strings.HasPrefix(word, "-") })
			if option < 0 || script >= 0 && script+2 < option && !strings.HasPrefix(words[script], "-") {
				t.Errorf("%q disables it", words)
			}
		}
		if value := process.ValueOf([]byte(content), "LD_LIBRARY_PATH"); value != "" && !slices.Contains(words, "LD_LIBRARY_PATH="+value) {
			t.Errorf("%q: %q", content, value)
		}
		// A shell interprets nothing in the line: everything outside quotes is plain.
		line := instead(words)
		if open := quotedWords.ReplaceAllString(strings.TrimSuffix(line, " …"), ""); strings.Trim(open, plainWord+" ") != "" {
			t.Errorf("%q: %q", words, line)
		}
	})
}
