package probe

import "testing"

func TestParseOwner(t *testing.T) {
	const status = "Name:\tpython\nUmask:\t0022\nTgid:\t41\nUid:\t0\t1000\t1000\t1000\nGid:\t0\t0\t0\t0\nNStgid:\t41\t7\nNSpid:\t41\t7\nVmRSS:\t1 kB\n"
	if who, err := parseOwner(status); err != nil || who != (owner{uid: 1000, nspid: 7}) {
		t.Errorf("%+v, %v", who, err)
	}
	// The fields of a file that ends early are unknown: 0 would be root.
	for end := range len(status) - len("VmRSS:\t1 kB\n") {
		if who, err := parseOwner(status[:end]); err == nil {
			t.Errorf("%q gives %+v", status[:end], who)
		}
	}
	for _, broken := range []string{"", "\nUid:\t1\t-1\t1\t1\nNSpid:\t1\n", "\nUid:\t1\t99999999999\t1\t1\nNSpid:\t1\n", "\nUid:\t1\nNSpid:\t1\n"} {
		if who, err := parseOwner(broken); err == nil {
			t.Errorf("%q gives %+v", broken, who)
		}
	}
}
