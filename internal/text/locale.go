package text

import "strings"

// UTF8 reports whether the locale's character set is UTF-8, by the rules of setlocale(3): LC_ALL,
// else LC_CTYPE, else LANG. Without a locale it returns true: over SSH and in containers, the
// locale usually exists and was not passed on.
func UTF8(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		value := strings.ToLower(getenv(name))
		if value == "" {
			continue
		}
		_, charset, named := strings.Cut(value, ".")
		if !named {
			return strings.Contains(value, "utf") // "C", "POSIX" and "de_DE" are not UTF-8
		}
		charset, _, _ = strings.Cut(charset, "@")
		return strings.ReplaceAll(charset, "-", "") == "utf8"
	}
	return true
}
