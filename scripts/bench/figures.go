//go:build linux

package main

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// figures are the medians of a program's runs, and the ratio of its processor time to nvtop's.
type figures struct {
	program program
	measured
	ratio spread // to nvtop's in the same runs; NaN without nvtop
}

// spread is a median with the least and the greatest of the runs.
type spread struct{ median, least, most float64 }

func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{math.NaN(), math.NaN(), math.NaN()}
	}
	sorted := slices.Sorted(slices.Values(values))
	return spread{sorted[len(sorted)/2], sorted[0], sorted[len(sorted)-1]}
}

func summarize(programs []program, runs [][]measured) []figures {
	reference := slices.IndexFunc(programs, func(p program) bool { return p.name == "nvtop" })
	all := make([]figures, len(programs))
	for i, p := range programs {
		own := runs[i]
		all[i] = figures{program: p, measured: measured{
			cpu:            medianOf(own, func(m measured) float64 { return m.cpu }),
			rss:            medianOf(own, func(m measured) int64 { return m.rss }),
			anonymous:      medianOf(own, func(m measured) int64 { return m.anonymous }),
			switches:       medianOf(own, func(m measured) float64 { return m.switches }),
			syscalls:       medianOf(own, func(m measured) float64 { return m.syscalls }),
			bytesPerSecond: medianOf(own, func(m measured) float64 { return m.bytesPerSecond }),
			threads:        medianOf(own, func(m measured) int { return m.threads }),
			firstFrame:     medianOf(own, func(m measured) time.Duration { return m.firstFrame }),
			wholeFrame:     medianOf(own, func(m measured) time.Duration { return m.wholeFrame }),
		}}
		var ratios []float64
		for run := range own {
			if reference >= 0 && runs[reference][run].cpu > 0 {
				ratios = append(ratios, own[run].cpu/runs[reference][run].cpu)
			}
		}
		all[i].ratio = spreadOf(ratios)
	}
	return all
}

func medianOf[T cmp.Ordered](runs []measured, of func(measured) T) T {
	values := make([]T, len(runs))
	for i := range runs {
		values[i] = of(runs[i])
	}
	slices.Sort(values)
	return values[len(values)/2]
}
