package text

import (
	"strconv"
	"strings"
)

// SpreadsheetCell returns Clean for a field of CSV. Spreadsheets run text that begins with =, +, -
// or @ as a formula; the leading quote that is added prevents that. Negative numbers stay.
func SpreadsheetCell(s string) string {
	cleaned := Clean(s)
	begins := strings.TrimLeft(cleaned, " ") // Clean has replaced tabs and line ends by spaces
	if begins == "" || !strings.ContainsRune("=+-@＝＋－＠", []rune(begins)[0]) {
		return cleaned
	}
	if _, err := strconv.ParseFloat(cleaned, 64); err == nil && cleaned[0] == '-' {
		return cleaned
	}
	return "'" + cleaned
}
