package fakedriver_test

import (
	"fmt"
	"strings"
	"testing"

	"vramscope/internal/fakedriver"
)

func TestTextOfAState(t *testing.T) {
	t.Parallel()
	state := fakedriver.State{GPUs: []fakedriver.GPU{{UUID: "GPU-1", Name: "a\x1b[31m \\ é", Fan: fakedriver.Absent, Lost: true}}}
	process := fakedriver.NewProcess(7, fakedriver.Unavailable)
	process.Name = "two words\n"
	state.GPUs[0].Processes = []fakedriver.Process{process}
	text := state.String()
	for _, want := range []string{
		"gpu GPU-1\n",
		`name a\x1b[31m \x5c \xc3\xa9` + "\n",
		"lost 1\n",
		"temperature 0\n",
		`process C pid=7 used=18446744073709551615 name=two\x20words\x0a` + "\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, absent := range []string{"fan", "hide_process_memory", "serial"} {
		if strings.Contains(text, absent) {
			t.Errorf("%q is absent, but in\n%s", absent, text)
		}
	}
}

// balanced says what is wrong with a GPU's books.
func balanced(gpu fakedriver.GPU) error {
	if gpu.Total != gpu.Reserved+gpu.Used+gpu.Free || gpu.Free > gpu.Total {
		return fmt.Errorf("%s: total %d is not reserved %d + used %d + free %d", gpu.UUID, gpu.Total, gpu.Reserved, gpu.Used, gpu.Free)
	}
	held := uint64(0)
	for _, p := range gpu.Processes {
		held += p.Used
	}
	if held != gpu.Used {
		return fmt.Errorf("%s: used %d, its processes hold %d", gpu.UUID, gpu.Used, held)
	}
	for _, i := range gpu.Instances {
		if i.Total != i.Reserved+i.Used+i.Free || i.Free > i.Total {
			return fmt.Errorf("%s %s: %+v", gpu.UUID, i.Profile, i)
		}
	}
	return nil
}

func boxes() map[string]fakedriver.State {
	return map[string]fakedriver.State{
		"8×8": fakedriver.Box(8, 8), "16×64": fakedriver.Box(16, 64), "1×0": fakedriver.Box(1, 0),
		"MIG": fakedriver.MIG(), "mixed": fakedriver.Mixed(),
	}
}

func TestBoxesAddUp(t *testing.T) {
	t.Parallel()
	for name, box := range boxes() {
		seen := map[string]bool{}
		for _, gpu := range box.GPUs {
			if err := balanced(gpu); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			bus := fmt.Sprint(gpu.PCIDomain, gpu.PCIBus)
			for _, unique := range []string{gpu.UUID, gpu.Serial, bus} {
				if seen[unique] {
					t.Errorf("%s: two GPUs have %s", name, unique)
				}
				seen[unique] = true
			}
		}
	}
}

func TestBoxesAreTheSameEveryTime(t *testing.T) {
	t.Parallel()
	again := boxes()
	for name, box := range boxes() {
		if box.String() != again[name].String() {
			t.Errorf("%s differs", name)
		}
	}
}

func TestEditsKeepTheBooks(t *testing.T) {
	t.Parallel()
	box := fakedriver.MIG()
	original := box.String()
	edited := box.Clone()
	gpu := &edited.GPUs[0]
	pid := gpu.Processes[0].PID
	free := gpu.Instances[0].Free
	gpu.Resize(pid, gpu.Processes[0].Used+1<<30)
	if err := balanced(*gpu); err != nil {
		t.Error(err)
	}
	if got := gpu.Instances[0].Free; got != free-1<<30 {
		t.Errorf("the instance has %d free, want %d", got, free-1<<30)
	}
	gpu.End(pid)
	if err := balanced(*gpu); err != nil || gpu.Process(pid) != nil {
		t.Errorf("after the end of %d: %v", pid, err)
	}
	gpu.Resize(pid, 1) // it is gone: nothing happens
	gpu.End(pid)
	if err := balanced(*gpu); err != nil {
		t.Error(err)
	}
	if box.String() != original {
		t.Error("editing a clone changed the original")
	}
}

func TestLiveBoxMovesAndAddsUp(t *testing.T) {
	t.Parallel()
	for name, box := range boxes() {
		live := fakedriver.NewLive(box)
		before, moved := "", 0
		for second := range 200 {
			state := live.At(second)
			for _, gpu := range state.GPUs {
				if err := balanced(gpu); err != nil {
					t.Fatalf("%s, second %d: %v", name, second, err)
				}
			}
			text := state.String()
			if text != before {
				moved++
			}
			if second%50 == 49 && text != live.At(second).String() {
				t.Fatalf("%s, second %d is not the same twice", name, second)
			}
			before = text
		}
		if moved < 199 {
			t.Errorf("%s stood still for %d seconds of 200", name, 200-moved)
		}
	}
}

func TestLiveBoxLosesAGPUAndFindsItAgain(t *testing.T) {
	t.Parallel()
	live := fakedriver.NewLive(fakedriver.Mixed())
	for second, want := range map[int]struct {
		lost bool
		xids int
	}{0: {false, 0}, 29: {false, 0}, 30: {true, 1}, 59: {true, 1}, 60: {false, 1}, 90: {true, 2}} {
		gpu := live.At(second).GPUs[6]
		if gpu.Lost != want.lost || len(gpu.XIDs) != want.xids {
			t.Errorf("second %d: lost %v with %d Xids, want %v with %d", second, gpu.Lost, len(gpu.XIDs), want.lost, want.xids)
		}
	}
	leaving := live.Still().GPUs[0].Processes[0].PID
	live.End(leaving)
	if state := live.At(5); state.GPUs[0].Process(leaving) != nil {
		t.Error("a process that has ended is back")
	}
}
