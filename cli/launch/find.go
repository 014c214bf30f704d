package launch

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Find is a command's file, as execvp(3) finds it. Its error is ENOENT or what is in
// the way: EACCES also where the only file of that name in PATH is not executable.
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil || errors.Is(err, exec.ErrDot) { // PATH may contain the working directory
		return path, nil
	}
	if !errors.Is(err, exec.ErrNotFound) || strings.Contains(name, "/") {
		return "", err
	}
	for _, directory := range filepath.SplitList(os.Getenv("PATH")) {
		if info, err := os.Stat(filepath.Join(directory, name)); err == nil && info.Mode().IsRegular() {
			return "", syscall.EACCES
		}
	}
	return "", syscall.ENOENT
}

// HasRoom reports whether enough descriptors are free to write files: without one
// for its poller, Go's runtime ends the program.
func HasRoom() bool {
	const needed = 8 // the poller's two, a directory and a file; the rest is margin
	var opened []int
	for len(opened) < needed {
		descriptor, err := syscall.Open("/", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		opened = append(opened, descriptor)
	}
	for _, descriptor := range opened {
		_ = syscall.Close(descriptor) // only opened to count
	}
	return len(opened) == needed
}
