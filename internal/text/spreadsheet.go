package text

import (
	"strconv"
	"strings"
)

// SpreadsheetCell returns Clean for a field of CSV. Spreadsheets take text that begins with = + -
// or @ for a formula and run it: a quote before it prevents that. Numbers stay.
func SpreadsheetCell(s string) string {
	cleaned := Clean(s)
	begins := strings.TrimLeft(cleaned, " ") // Clean makes blanks of tabs and line ends
	if begins == "" || !strings.ContainsRune("=+-@＝＋－＠", []rune(begins)[0]) {
		return cleaned
	}
	if _, err := strconv.ParseFloat(cleaned, 64); err == nil && cleaned[0] == '-' {
		return cleaned
	}
	return "'" + cleaned
}
