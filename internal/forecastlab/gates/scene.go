package main

import "vramscope/internal/forecastlab/regime"

// scene is what happens on a GPU, sample by sample, until more is false.
type scene interface {
	next() (running []regime.Process, refused *regime.Refusal, more bool)
	step() float64 // seconds between samples
}

// series is a scene of one process, which is old. It runs out of memory where the series
// reaches the capacity.
type series struct {
	bytes []float64
	every float64 // seconds
	i     int
}

func (s *series) step() float64 { return s.every }

func (s *series) next() ([]regime.Process, *regime.Refusal, bool) {
	if s.i == len(s.bytes) {
		return nil, nil, false
	}
	var refused *regime.Refusal
	if s.bytes[s.i] >= regime.Capacity {
		refused = &regime.Refusal{}
	}
	s.i++
	return []regime.Process{{PID: 1, Began: -day, Used: s.bytes[s.i-1], Command: "python train.py"}}, refused, true
}

// week is a scene of a shared GPU.
type week struct {
	gpu     *regime.Shared
	seconds int // that are left
}

func (*week) step() float64 { return 1 }

func (w *week) next() ([]regime.Process, *regime.Refusal, bool) {
	if w.seconds == 0 {
		return nil, nil, false
	}
	w.seconds--
	running, refused := w.gpu.Next()
	return running, refused, true
}
