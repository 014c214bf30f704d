package socket

import (
	"strings"
	"testing"
)

func TestOthersReadNumbersOnly(t *testing.T) {
	directory, _ := serve(t, newBox(), mustShare(t, "all"))
	got := as(t, alice, alice, directory, everything())
	for _, want := range []string{`"view":"numbers"`, `"cached_bytes":31138512896`, `"name":"PyTorch"`, `"used_bytes":`, `"message":"started"`, `"oldest_ns":`, `"requested_bytes":10737418240`} {
		if !strings.Contains(got, want) {
			t.Errorf("alice does not get %s in\n%.3000s", want, got)
		}
	}
	for line := range strings.Lines(got) {
		if !strings.Contains(line, `"ok":true`) {
			t.Errorf("refused: %s", line)
		}
	}
	for _, private := range []string{secret, `"flush"`, "4711"} {
		if at := strings.Index(got, private); at >= 0 {
			t.Errorf("alice reads %q: …%s…", private, got[max(at-200, 0):min(at+100, len(got))])
		}
	}
	// Root's monitor sees everything.
	if all := as(t, 0, 0, directory, everything()); !strings.Contains(all, `"library":"`+secret+`.so"`) {
		t.Errorf("root does not see whose code ran out of memory: %.1000s", all)
	}
	if all := as(t, 0, 0, directory, everything()); !strings.Contains(all, secret+".py") || !strings.Contains(all, "flush by "+secret) || !strings.Contains(all, `"view":"all"`) {
		t.Errorf("root does not see everything: %.1000s", all)
	}
}

func TestNothingIsSharedByDefault(t *testing.T) {
	directory, _ := serve(t, newBox(), mustShare(t, "none"))
	if got := as(t, alice, alice, directory, everything()); !strings.Contains(got, "permission denied") {
		t.Errorf("alice gets %.500s", got)
	}
}

func TestGroupReadsNumbers(t *testing.T) {
	directory, _ := serve(t, newBox(), Share{mode: 0o660, group: 4242})
	if got := as(t, alice, 4242, directory, everything()); !strings.Contains(got, `"view":"numbers"`) {
		t.Errorf("a member gets %.500s", got)
	}
	if got := as(t, alice, alice, directory, everything()); !strings.Contains(got, "permission denied") {
		t.Errorf("somebody else gets %.500s", got)
	}
}

func TestShareNamesAGroupThatIsThere(t *testing.T) {
	for value, want := range map[string]string{"none": "", "all": "", "group:root": "", "group:no such group": "there is no group", "some": "neither none"} {
		if _, err := ParseShare(value); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", value, err)
		}
	}
}
