package install

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestOwnIsNotAnotherUsers(t *testing.T) {
	account, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	theirs, own := t.TempDir(), t.TempDir()
	if os.Geteuid() == 0 {
		err = os.Chown(theirs, 12345, 12345)
	} else {
		t.Skip("only root can make another user's directory")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ variable, home, want string }{
		{own + "/new/state", "/h", own + "/new/state"},
		{theirs + "/state", own, own + "/.local/state"},
		{"relative", own, own + "/.local/state"},
		{theirs + "/state", theirs, account.HomeDir + "/.local/state"},
		{"", "", account.HomeDir + "/.local/state"},
		{"", "home", account.HomeDir + "/.local/state"},
	} {
		getenv := func(name string) string { return map[string]string{"XDG_STATE_HOME": c.variable, "HOME": c.home}[name] }
		got, err := Own(Bases(getenv, "XDG_STATE_HOME", ".local/state"))
		if got != c.want || err != nil {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
	if got, err := Own(slices.Values([]string{theirs})); got != theirs || err != nil {
		t.Errorf("without another: %s, %v", got, err)
	}
	if _, err := Own(slices.Values[[]string](nil)); !errors.Is(err, ErrNoHome) {
		t.Errorf("without any: %v", err)
	}
}

func TestPossibleIsThePartThatIsThere(t *testing.T) {
	directory := t.TempDir()
	if got, err := Possible(filepath.Join(directory, "new", "cache")); got != directory || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if err := os.Chmod(directory, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Possible(filepath.Join(directory, "new", "cache")); err == nil || !strings.Contains(err.Error(), "can be written by others") {
		t.Errorf("where others can write: %v", err)
	}
}
