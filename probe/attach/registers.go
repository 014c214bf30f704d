package attach

import (
	"errors"
	"runtime"
	"strings"
)

// errRegisters says that gdb cannot write a process's registers. gdb 13 cannot
// on processors with AMX whose kernel has a larger register file than it expects.
var errRegisters = errors.New("this gdb cannot write registers on this processor, so that it can call nothing; nothing was done: a newer gdb may, and vramscope run needs none")

// checkRegisters changes a vector register of the stopped thread and changes it
// back. A gdb that cannot do that would fail half-way through a function call,
// and leave the process an interrupted system call that is not restarted.
func (d *debugger) checkRegisters() error {
	if runtime.GOARCH != "amd64" {
		return nil
	}
	reply, err := d.say(
		"set $vramscope_was = $xmm15.v4_int32[3]",
		"set $xmm15.v4_int32[3] = ~$vramscope_was",
		"set $xmm15.v4_int32[3] = $vramscope_was",
	)
	if err == nil && strings.Contains(reply, "Couldn't write") {
		err = errRegisters
	}
	return err
}
