// Package past defines the commands that read recordings: replay, export, report, why and backtest.
//
//	sources.OpenRecording ─→ recording.Recording ─→ ui, rows, sums, an explanation, scores
//
// Start with export.go, which is the simplest.
package past
