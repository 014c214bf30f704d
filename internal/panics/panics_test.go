package panics

import (
	"strings"
	"testing"
)

func fall() (c *Caught) {
	defer func() { c = Catch(recover()) }()
	panic("fallen")
}

func TestPanicKeepsItsFirstStack(t *testing.T) {
	Catch(nil).Again() // nil: does not panic
	first := fall()
	again := func() (c *Caught) {
		defer func() { c = Catch(recover()) }()
		first.Again()
		return nil
	}()
	if again != first || !strings.Contains(again.Error(), "fallen\n") || !strings.Contains(again.Error(), "panics.fall") {
		t.Errorf("it arrives as %v, want %v", again, first)
	}
}

func TestPanicBecomesAnError(t *testing.T) {
	var err error
	func() {
		defer To(func(failed error) { err = failed }, "the fall")
		panic("fallen")
	}()
	if err == nil || !strings.HasPrefix(err.Error(), "the fall: panic: fallen\n") {
		t.Errorf("it is %v", err)
	}
	func() { defer To(func(error) { t.Error("there was no panic") }, "nothing") }()
}
