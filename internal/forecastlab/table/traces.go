package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"vramscope/internal/forecastlab/regime"
)

// writeTraces writes a file for each regime, as vramscope backtest reads them.
func writeTraces(dir string, s seeds) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the directory of the traces: %w", err)
	}
	for _, g := range regime.All() {
		var b bytes.Buffer
		b.WriteString("t_seconds,series_id,used_bytes,total_bytes\n")
		for _, series := range made(&g, s) {
			for _, sample := range series.Samples {
				fmt.Fprintf(&b, "%g,%s,%d,%d\n", sample.Seconds, series.ID, sample.Used, sample.Total)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fileName(g.Name)+".csv"), b.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write a trace: %w", err)
		}
	}
	return nil
}

func fileName(regime string) string { return strings.NewReplacer(" ", "-", ",", "").Replace(regime) }

func seriesName(regime string, seed uint64) string {
	return fmt.Sprintf("%s/%d", fileName(regime), seed)
}
