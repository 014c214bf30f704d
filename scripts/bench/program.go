//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// program is a monitor to watch, or a command that ends.
type program struct {
	name    string
	command []string
	peer    bool // watched only in scenarios with peers
	bare    bool // a floor, which asks the driver and has no screen
	once    bool // ends by itself
	daemon  bool // shows nothing
}

// findPrograms builds this project's programs and finds or installs the others. It does not build
// vramscope if VRAMSCOPE_BUILT names one.
func findPrograms(dir string, o options) ([]program, error) {
	ours, loop, floor := filepath.Join(dir, "vramscope"), filepath.Join(dir, "loop"), filepath.Join(dir, "floor")
	builds := [][]string{}
	if built := os.Getenv("VRAMSCOPE_BUILT"); built != "" {
		ours = built
	} else {
		// The copy is like an installed program. If Go's linker has written a file itself, Linux maps
		// the file in pieces of 2 MiB, and the whole program would count as resident.
		linked := filepath.Join(dir, "linked")
		builds = append(builds, []string{"go", "build", "-trimpath", "-ldflags", "-s -w", "-o", linked, "."}, []string{"cp", linked, ours})
	}
	if !o.short {
		builds = append(builds,
			[]string{"go", "build", "-trimpath", "-ldflags", "-s -w", "-o", loop, "./scripts/bench/loop"},
			[]string{"cc", "-O2", "-o", floor, "scripts/bench/floor/floor.c", "-ldl"})
	}
	for _, build := range builds {
		if err := loud(build...); err != nil {
			return nil, err
		}
	}
	all := []program{
		{name: "vramscope", command: []string{ours}},
		{name: "nvtop", command: []string{"nvtop", "-d", "10"}},
		{name: "a loop in C (floor)", command: []string{floor}, bare: true},
		{name: "a loop in Go (floor)", command: []string{loop}, bare: true},
		{name: "a sample in C", command: []string{floor, "-once"}, once: true},
		{name: "vramscope --demo", command: []string{ours, "--demo"}, peer: true},
	}
	if o.wants("nvitop") || o.wants("gpustat") {
		venv, err := pythonPeers()
		if err != nil {
			return nil, err
		}
		all = append(all,
			program{name: "nvitop", command: []string{filepath.Join(venv, "nvitop"), "-m", "full", "--interval", "1"}, peer: true},
			program{name: "gpustat", command: []string{filepath.Join(venv, "gpustat"), "-i", "1", "-cp"}, peer: true})
	}
	// The daemon runs in a mount namespace, as in its systemd unit, with folders of its own.
	if os.Geteuid() == 0 {
		all = append(all, program{name: "vramscope daemon", daemon: true, peer: true, command: []string{"unshare", "-m", "sh", "-c", `mkdir -p /run/vramscope /var/lib/vramscope &&
			mount -t tmpfs -o mode=755 none /run/vramscope && mount -t tmpfs -o mode=755 none /var/lib/vramscope && exec "$0" daemon --record`, ours}})
	}
	for _, other := range o.with {
		command := strings.Fields(other)
		all = append(all, program{name: command[0], command: command})
	}
	var found []program
	for _, p := range all {
		if !o.wants(p.name) {
			continue
		}
		if _, err := exec.LookPath(p.command[0]); err != nil {
			return nil, fmt.Errorf("%s is not installed", p.name)
		}
		found = append(found, p)
	}
	return found, nil
}

// pythonPeers returns the folder of the monitors in Python. It installs them into a cache if they are
// not there.
func pythonPeers() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	venv := filepath.Join(cache, "vramscope-bench")
	if _, err := os.Stat(filepath.Join(venv, "bin", "nvitop")); err == nil {
		return filepath.Join(venv, "bin"), nil
	}
	if err := loud("python3", "-m", "venv", venv); err != nil {
		return "", err
	}
	return filepath.Join(venv, "bin"), loud(filepath.Join(venv, "bin", "pip"), "install", "-q", "nvitop", "gpustat")
}

// loud runs a command, and shows what it writes on standard error.
func loud(command ...string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(command[:min(len(command), 2)], " "), err)
	}
	return nil
}
