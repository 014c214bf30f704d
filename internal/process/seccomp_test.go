package process

import (
	"strings"
	"testing"
)

func TestSeccompFiltersAreCounted(t *testing.T) {
	for status, want := range map[string]int{
		"Name:\tpython3\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\nSpeculation_Store_Bypass:\tvulnerable\n": 3,
		"Name:\tSeccomp\nSeccomp:\t0\nSeccomp_filters:\t0\n":                                                        0,
		"Name:\tx\nSeccomp:\t0\nCpus_allowed:\t3\n":                                                                 0, // before Linux 5.9
		"Name:\tx\nSeccomp:\t2\nCpus_allowed:\t3\n":                                                                 1, // before Linux 5.9
		"Name:\tx\nSeccomp:\t1\n":                                                                                   1, // strict mode
		"Name:\tx\nCpus_allowed:\t3\n":                                                                              -1,
		"Name:\tx\nSeccomp:\tmany\n":                                                                                -1,
		"Name:\tx\nSeccomp:\t2":                                                                                     -1, // cut off
		"":                                                                                                          -1,
	} {
		got, err := ParseSeccompFilters([]byte(status))
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, %v, want %d", status, got, err, want)
		}
	}
	if _, err := SeccompFilters("/proc/self/status"); err != nil {
		t.Error(err)
	}
	if _, err := SeccompFilters(t.TempDir() + "/none"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
}
