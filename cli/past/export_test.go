package past

import (
	"bufio"
	"errors"
	"strings"
	"testing"

	"vramscope/recording"
	"vramscope/sampler/snapshot"
)

// TestExportedCSVHasNoFormulas: a spreadsheet would run them.
func TestExportedCSVHasNoFormulas(t *testing.T) {
	var content strings.Builder
	out := bufio.NewWriter(&content)
	reading := &recording.Reading{GPUUUID: "=1", Process: &recording.ProcessRow{Process: snapshot.Process{User: "@bob", Name: "\t=name", Command: []string{"-2+3", "x"}}}}
	if err := errors.Join(csvLines(out, nil)(reading), out.Flush()); err != nil {
		t.Fatal(err)
	}
	if row := strings.Split(content.String(), "\n")[1]; !strings.Contains(row, ",'=1,") || !strings.HasSuffix(row, ",'@bob,' =name,'-2+3 x") {
		t.Error(row)
	}
}
