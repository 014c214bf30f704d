//go:build !linux

package process

import "syscall"

// kernel has no pidfds here: every signal is refused.
type kernel struct{}

func (kernel) open(int) (int, error) { return -1, syscall.ENOSYS }

func (kernel) send(int, syscall.Signal) error { return syscall.ENOSYS }
