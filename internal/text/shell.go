package text

import "strings"

// plainWord lists the characters that a shell does not interpret.
const plainWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+/:@%=,"

// ShellQuote quotes a word if a shell would interpret it.
func ShellQuote(word string) string {
	if word != "" && strings.Trim(word, plainWord) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
