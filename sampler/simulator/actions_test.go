package simulator_test

import (
	"syscall"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/simulator"
)

func TestFlushFreesWhatWasReturnable(t *testing.T) {
	b := open(t, simulator.Options{})
	m := b.look(0)
	for _, who := range []struct {
		gpu           int
		user, command string
	}{
		{0, "alice", "train.py"}, {2, "bob", "serve"}, {3, "carol", "finetune.py"},
		{4, "dave", "dlrm.py"}, {5, "frank", "ipykernel_launcher"}, {7, "erin", "t5x/train.py"},
	} {
		p, ok := m.owned(who.gpu, who.user, who.command)
		a, answered := m.answer(p.PID)
		if !ok || !answered {
			t.Fatalf("%v is not there", who)
		}
		al := a.Report.Devices[0].Allocators[0]
		// A flush waits for pending blocks, and frees their segments too.
		pending := quantity.Bytes(0)
		if al.Pending.Known() {
			pending = al.Pending.Or(0)
		}
		would, failed := b.Flush(m.Processes[p.PID].Identity, true)
		done, err := b.Flush(m.Processes[p.PID].Identity, false)
		if err != nil {
			t.Fatal(err)
		}
		if failed != nil || would.BeforeBytes != al.Reserved.Or(0) || would.FreedBytes != al.Returnable.Or(0) {
			t.Errorf("%s: a dry run says %+v, %v", who.user, would, failed)
		}
		freed := done.FreedBytes
		if done.BeforeBytes != al.Reserved.Or(0) || freed < al.Returnable.Or(0) || freed > al.Returnable.Or(0)+pending+64*quantity.MiB {
			t.Errorf("%s: %s returnable, %s pending, freed %s", who.user, al.Returnable.Or(0), pending, freed)
		}
		now, _ := b.look(0).owned(who.gpu, who.user, who.command)
		if p.Used.Or(0)-now.Used.Or(0) != freed {
			t.Errorf("%s: the driver fell from %v to %v, freed %s", who.user, p.Used, now.Used, freed)
		}
	}
}

func TestFlushNeedsAProbe(t *testing.T) {
	b := open(t, simulator.Options{})
	m := b.look(0)
	for _, id := range []process.Identity{m.Processes[1907].Identity, {PID: 184}, {PID: 4, StartTime: 1}} {
		if _, err := b.Flush(id, false); err == nil {
			t.Errorf("%+v was flushed", id)
		}
	}
}

func TestSignalsEndStopAndContinue(t *testing.T) {
	b := open(t, simulator.Options{})
	m := b.look(0)
	dave, _ := m.owned(4, "dave", "dlrm.py")
	id := m.Processes[dave.PID].Identity

	other := id
	other.StartTime++
	if err := b.Signal(other, syscall.SIGKILL); err == nil {
		t.Error("another process was signalled")
	}
	if err := b.Signal(process.Identity{PID: 184}, syscall.SIGKILL); err == nil {
		t.Error("a foreign process was signalled")
	}

	if err := b.Signal(id, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	m = b.look(12 * time.Second)
	if a, _ := m.answer(dave.PID); a.Err == nil || m.Readings[4].Utilization.Or(-1) > 20 {
		t.Errorf("a stopped process works and answers: %v, %+v", m.Readings[4].Utilization, a)
	}
	if err := b.Signal(id, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	m = b.look(15 * time.Second)
	if a, _ := m.answer(dave.PID); a.Err != nil || m.Readings[4].Utilization.Or(-1) < 60 {
		t.Errorf("it does not go on: %v, %+v", m.Readings[4].Utilization, a)
	}

	if err := b.Signal(id, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	m = b.look(16 * time.Second)
	if p, ok := m.owned(4, "dave", "dlrm.py"); ok || m.Readings[4].Memory.Used.Or(0) > 4*quantity.GiB {
		t.Errorf("it is still there: %+v, used %v", p, m.Readings[4].Memory.Used)
	}
}
