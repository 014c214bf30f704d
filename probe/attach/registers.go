package attach

import (
	"errors"
	"runtime"
	"strings"
)

// errRegisters means that gdb cannot write registers. gdb 13 cannot on processors
// with AMX, whose register file is larger than it expects.
var errRegisters = errors.New("this gdb cannot write registers on this processor, and so cannot call functions; nothing was done; use a newer gdb, or vramscope run, which needs none")

// checkRegisters changes a vector register of the stopped thread and restores it. A
// gdb that cannot would fail within a function call, and leave the process with an
// interrupted system call.
func (d *debugger) checkRegisters() error {
	if runtime.GOARCH != "amd64" {
		return nil
	}
	reply, err := d.execute(
		"set $vramscope_was = $xmm15.v4_int32[3]",
		"set $xmm15.v4_int32[3] = ~$vramscope_was",
		"set $xmm15.v4_int32[3] = $vramscope_was",
	)
	if err == nil && strings.Contains(reply, "Couldn't write") {
		err = errRegisters
	}
	return err
}
