package text

import "testing"

func TestSpreadsheetCellIsNoFormula(t *testing.T) {
	for cell, want := range map[string]string{
		"=HYPERLINK(1)": "'=HYPERLINK(1)", "+1+2": "'+1+2", "-2+3": "'-2+3", "@SUM(1)": "'@SUM(1)", "+7": "'+7",
		"\t=1": "' =1", "\r=1": "' =1", "\n@a": "' @a", "  -x": "'  -x", "＝1": "'＝1", "－": "'－",
		"-7": "-7", "-7.5": "-7.5", "-1e-3": "-1e-3", "7": "7", "": "", " ": " ", "a=1": "a=1", "python -c": "python -c", "'=": "'=", "\x1b=": "?=",
	} {
		if got := SpreadsheetCell(cell); got != want {
			t.Errorf("%q is %q, want %q", cell, got, want)
		}
	}
}
