//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"vramscope/internal/fakedriver"
)

// stage is a fake GPU box with real processes, whose memory moves.
type stage struct {
	scenario
	environment []string
	population  *fakedriver.Population
	stop        chan struct{}
	stopped     chan struct{}
}

func newStage(dir string, at scenario) (*stage, error) {
	library, err := fakedriver.Compile(fakedriver.Current)
	if err != nil {
		return nil, err
	}
	state := fakedriver.Box(at.gpus, at.processes)
	for i := range state.GPUs {
		for j := range state.GPUs[i].Processes {
			state.GPUs[i].Processes[j].Command = []string{"python", fmt.Sprintf("train_%d_%d.py", i, j), "--cfg", "llama-7b.yaml"}
		}
	}
	population, err := fakedriver.Populate(&state)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "state")
	if err := state.Write(path); err != nil {
		return nil, err
	}
	home := filepath.Join(dir, "home") // without the user's settings and recordings
	settings := ""
	if at.graph != "" {
		settings = fmt.Sprintf("graph_window = %q\n", at.graph)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(home, "vramscope"), 0o700),
		os.WriteFile(filepath.Join(home, "vramscope", "config.toml"), []byte(settings), 0o600)); err != nil {
		return nil, err
	}
	s := &stage{
		scenario: at, population: population,
		environment: append(append(os.Environ(), fakedriver.Environment(library, path)...),
			"TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "HOME="+home,
			"XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home, "XDG_CACHE_HOME="+home),
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	go func() {
		defer close(s.stopped)
		for second := 1; ; second++ {
			select {
			case <-s.stop:
				return
			case <-time.After(time.Second):
				if s.still {
					continue
				}
				if err := state.At(second).Write(path); err != nil {
					fmt.Fprintln(os.Stderr, "bench:", err)
					return
				}
			}
		}
	}()
	return s, nil
}

func (s *stage) close() {
	close(s.stop)
	<-s.stopped
	s.population.Close()
}
