//go:build linux

package main

import (
	"fmt"
	"os/exec"
	"time"
)

// oneShot times commands that end, in turns, on boxes of several sizes: vramscope's
// beside a bare program that makes the same driver calls.
func (r *report) oneShot(dir string, programs []program, o options) error {
	var bare program
	for _, p := range programs {
		if p.once {
			bare = p
		}
	}
	ours := programs[0].command[0]
	const rounds = 9
	r.say("\n### one-shot commands, medians of %d, by turns\n\n", rounds)
	r.say("| box | %s | `once --format json` | × | `once` | `--version` |\n|---|---|---|---|---|---|\n", bare.name)
	for _, s := range scenarios {
		if s.still || s.columns != 200 || s.graph == "1m" {
			continue
		}
		commands := [][]string{bare.command, {ours, "once", "--format", "json"}, {ours, "once"}, {ours, "--version"}}
		took, err := s.times(dir, rounds, commands)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		ratios := make([]float64, rounds)
		for i := range ratios {
			ratios[i] = took[1][i] / took[0][i]
		}
		r.say("| %s | %s | %s | %s | %s | %s |\n", s.name, ms(took[0]), ms(took[1]), spreadOf(ratios), ms(took[2]), ms(took[3]))
	}
	return nil
}

// ms returns a median with its spread, in milliseconds.
func ms(took []float64) string {
	s := spreadOf(took)
	return fmt.Sprintf("%.1f ms (%.1f–%.1f)", s.median, s.least, s.most)
}

// times runs commands in turns, after one round that does not count. It returns how long
// each run of each command took, in milliseconds.
func (s scenario) times(dir string, rounds int, commands [][]string) ([][]float64, error) {
	stage, err := newStage(dir, s)
	if err != nil {
		return nil, err
	}
	defer stage.close()
	took := make([][]float64, len(commands))
	for round := range rounds + 1 {
		for i, command := range commands {
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Env = stage.environment
			begin := time.Now()
			if err := cmd.Run(); err != nil {
				return nil, fmt.Errorf("%v: %w", command, err)
			}
			if round > 0 {
				took[i] = append(took[i], float64(time.Since(begin).Microseconds())/1000)
			}
		}
	}
	return took, nil
}
