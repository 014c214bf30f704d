package text

import (
	"strconv"
	"strings"
)

// SpreadsheetCell returns clean text for a field of CSV. It adds a quote before =, +, - or @, which
// would make a spreadsheet run the text as a formula. Negative numbers get none.
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
