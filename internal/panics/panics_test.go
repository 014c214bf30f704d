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
	Catch(nil).Again() // no panic
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
