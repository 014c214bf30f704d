package fakedriver

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Population is a set of real idle processes, so that the processes of a state are in /proc. They
// end with the process that started them: each runs until the other end of its input is closed.
type Population struct {
	pids []int
	hold *os.File // the other end of every process's input
}

// Populate starts a real process for each process of the state that has a Command, and
// sets the pids in the state.
func Populate(state *State) (*Population, error) {
	program, err := compile(product{name: "idle-process", sources: []string{"idle"}})
	if err != nil {
		return nil, err
	}
	input, hold, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("fakedriver: populate: %w", err)
	}
	defer input.Close() // only the processes' copies matter
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fakedriver: populate: %w", err), hold.Close())
	}
	defer null.Close() // nothing is written to it here

	population := &Population{hold: hold}
	attributes := &os.ProcAttr{Files: []*os.File{input, null, null}}
	for i := range state.GPUs {
		for j := range state.GPUs[i].Processes {
			process := &state.GPUs[i].Processes[j]
			if len(process.Command) == 0 {
				continue
			}
			started, err := os.StartProcess(program, process.Command, attributes)
			if err != nil {
				population.Close()
				return nil, fmt.Errorf("fakedriver: populate: %w", err)
			}
			process.PID = uint64(started.Pid)
			population.pids = append(population.pids, started.Pid)
			_ = started.Release() // Ended and Close wait by pid; a handle would cost a descriptor for each process
		}
	}
	return population, nil
}

// Ended returns the processes that have ended since the last call.
func (p *Population) Ended() []uint64 {
	var ended []uint64
	living := p.pids[:0]
	for _, pid := range p.pids {
		if got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); got == pid || errors.Is(err, syscall.ECHILD) {
			ended = append(ended, uint64(pid))
		} else {
			living = append(living, pid)
		}
	}
	p.pids = living
	return ended
}

// Close ends all processes and waits until they are gone.
func (p *Population) Close() {
	_ = p.hold.Close() // a second Close is no fault
	for _, pid := range p.pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // also ends a stopped process; an error means that it is gone
		for {
			if _, err := syscall.Wait4(pid, nil, 0, nil); !errors.Is(err, syscall.EINTR) {
				break
			}
		}
	}
	p.pids = nil
}
