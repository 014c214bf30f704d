package preload

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"vramscope/internal/elffile"
)

// Obstacle returns why the library cannot or should not be preloaded into a
// program, or "". It reads the program's file and runs nothing. It is no obstacle
// that a file is no ELF program: the file may be a script.
func Obstacle(path string) string {
	if why := secure(path); why != "" {
		return why
	}
	file, err := elffile.Open(path)
	if err != nil {
		return "" // the kernel reports a malformed program
	}
	defer func() { _ = file.Close() }() // read only
	if !file.Native() {
		return "it is for another processor (" + strings.TrimPrefix(file.Machine.String(), "EM_") + ")"
	}
	loader := file.Interpreter()
	switch {
	case loader == "":
		return "it is statically linked: there is no loader that would preload anything"
	case strings.Contains(filepath.Base(loader), "musl"):
		return "its C library is musl, and the probe is made for glibc"
	}
	if name := sanitizer(file); name != "" {
		return "it was built with " + name + ", which wants to come first"
	}
	return ""
}

// secure returns why the loader would ignore LD_PRELOAD, or "".
// Source: https://man7.org/linux/man-pages/man8/ld.so.8.html, secure-execution mode
func secure(path string) string {
	why := Setuid(path)
	if why == "" && os.Geteuid() != 0 && hasCapabilities(path) {
		why = "it has capabilities"
	}
	if why == "" {
		return ""
	}
	return why + ": the loader ignores LD_PRELOAD there"
}

func hasCapabilities(path string) bool {
	size, err := unix.Getxattr(path, "security.capability", nil)
	return err == nil && size > 0
}

// Setuid returns why a program would run as another user or group than its caller, or "".
func Setuid(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode(); {
	case !ok:
	case mode&os.ModeSetuid != 0 && int(owner.Uid) != os.Geteuid():
		return "it is setuid"
	case mode&os.ModeSetgid != 0 && int(owner.Gid) != os.Getegid():
		return "it is setgid"
	}
	return ""
}

// sanitizers are recognised by a library that the program needs or a symbol that it defines.
var sanitizers = []struct{ name, library, symbol string }{
	{"AddressSanitizer", "asan", "__asan_init"},
	{"ThreadSanitizer", "tsan", "__tsan_init"},
	{"MemorySanitizer", "msan", "__msan_init"},
}

func sanitizer(file *elffile.File) string {
	libraries, err := file.Needed()
	if err != nil {
		return ""
	}
	for _, s := range sanitizers {
		for _, library := range libraries {
			if strings.HasPrefix(library, "lib"+s.library+".") || strings.HasPrefix(library, "libclang_rt."+s.library) {
				return s.name
			}
		}
	}
	for _, s := range sanitizers {
		if symbols, err := file.Symbols(s.symbol); err == nil && len(symbols) > 0 {
			return s.name
		}
	}
	return ""
}
