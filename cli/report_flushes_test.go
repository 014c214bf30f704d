package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"vramscope/action"
	"vramscope/cli/command"
	"vramscope/internal/quantity"
	"vramscope/recording"
	"vramscope/schema"
)

// A flush by a command is only in the audit log: the daemon does not see it.
func TestReportHasTheFlushesOfCommands(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	directory, noon, _ := recorded(t)
	r, err := recording.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	processes, err := r.Processes(noon, noon.Add(time.Hour))
	if err != nil || len(processes) == 0 {
		t.Fatal(err)
	}
	_ = r.Close() // it was only read
	// The simulated box loses a GPU. The memory of the processes on it is unknown then.
	p := &processes[slices.IndexFunc(processes, func(p recording.ProcessRow) bool { return p.Used.Known() })]
	then, _ := time.Parse(time.RFC3339, noon.Add(30*time.Second).Format(time.RFC3339))
	line := func(change func(*action.Entry)) []byte {
		freed := p.Used.Or(0) / 2
		e := action.Entry{
			Time: then.Format("2006-01-02T15:04:05.000Z07:00"), Action: "flush", Outcome: "flushed", Origin: action.Command("flush"), Level: "gradual",
			PID: p.ID.Process.PID, StartTime: p.ID.Process.StartTime, GPUs: []int{0, 1, 2, 3, 4, 5, 6, 7}, DriverBytes: quantity.From(freed, quantity.Driver),
		}
		change(&e)
		written, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		return append(written, '\n')
	}
	log := line(func(*action.Entry) {})
	for _, other := range []func(*action.Entry){
		func(e *action.Entry) { e.Outcome = "begin" },
		func(e *action.Entry) { e.Origin = action.Policy("low") }, // the recording has the daemon's own flushes
		func(e *action.Entry) { e.StartTime++ },
		func(e *action.Entry) { e.Time = then.Add(-240 * time.Hour).Format("2006-01-02T15:04:05.000Z07:00") },
	} {
		log = append(log, line(other)...)
	}
	path := filepath.Join(state, "vramscope", action.LogName)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(log, "cut"...), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code := ran(t, "report", directory, "--format", "json")
	var got schema.Report
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != command.ExitOK {
		t.Fatalf("%v %s", err, errs)
	}
	if f := got.Flushes; f.Count != 1 || f.FreedBytes.Or(-1) != p.Used.Or(0)/2 || len(f.StayedFree) == 0 || f.StayedFree[0].Flushes != 1 {
		t.Errorf("%+v", f)
	}
}
