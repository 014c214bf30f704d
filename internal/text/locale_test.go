package text

import "testing"

func TestUTF8(t *testing.T) {
	for _, c := range []struct {
		environment map[string]string
		want        bool
	}{
		{nil, true},
		{map[string]string{"LANG": "en_US.UTF-8"}, true},
		{map[string]string{"LANG": "C.utf8"}, true},
		{map[string]string{"LANG": "de_DE.UTF-8@euro"}, true},
		{map[string]string{"LC_CTYPE": "UTF-8"}, true}, // macOS
		{map[string]string{"LANG": "C"}, false},
		{map[string]string{"LANG": "POSIX"}, false},
		{map[string]string{"LANG": "de_DE"}, false},
		{map[string]string{"LANG": "de_DE.ISO-8859-1"}, false},
		{map[string]string{"LANG": "C.UTF-8", "LC_ALL": "C"}, false},
		{map[string]string{"LANG": "C", "LC_CTYPE": "C.UTF-8"}, true},
		{map[string]string{"LC_CTYPE": "C.UTF-8", "LC_ALL": "C"}, false},
	} {
		if got := UTF8(func(name string) string { return c.environment[name] }); got != c.want {
			t.Errorf("%v: %t", c.environment, got)
		}
	}
}
