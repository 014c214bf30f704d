//go:build !linux

package action

import "errors"

// Real processes are found through /proc: elsewhere nothing is done to any.
var errNoLinux = errors.New("actions on processes need Linux")

func appendLine(string, []byte) error { return errNoLinux }
func checkLog(string) error           { return errNoLinux }
