package fleet

import (
	"fmt"
	"regexp"
	"sync"

	"vramscope/internal/text"
)

// destination matches a host, a user at a host, or a name of ssh's configuration. It admits no option, no blank,
// and no character that a shell, ssh or a terminal interprets. It is compiled on first use, because
// compiling takes most of a millisecond and most commands need no destination.
var destination = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9._-]{0,63}@)?[A-Za-z0-9_]([A-Za-z0-9._:-]{0,252}[A-Za-z0-9_])?$`)
})

// Destination checks that a name can be given to ssh. Names come from labels, which anyone who
// runs an exporter can set.
func Destination(name string) (string, error) {
	if !destination().MatchString(name) {
		return "", fmt.Errorf("%q is no host name", text.Cut(text.Clean(name), 60, "…"))
	}
	return name, nil
}
