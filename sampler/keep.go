package sampler

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"

	"vramscope/nvml"
	"vramscope/sampler/alert"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/store"
)

// The state of a Sampler can outlive its process. A driver library cannot be
// unloaded, so that after an upgrade of the driver only a new process can read
// it. That process takes over the state of the old one:
//
//	old: Run ends → Save ─→ roster, as gob ─→ Options.Restore → New, Tick :new
//
// The state is the history, the forecasters and the alerts' hysteresis. How each
// GPU answered (late, backoff) is not kept.

// Save writes the sampler's state. It is called by the goroutine that ticks, or
// after Run has returned.
func (s *Sampler) Save(w io.Writer) error {
	roster := s.roster()
	roster.Outlooks = s.outlooks()
	var err error
	if roster.Rules, err = s.alerts.MarshalBinary(); err != nil {
		return fmt.Errorf("sampler: save: %w", err)
	}
	if err := gob.NewEncoder(w).Encode(roster); err != nil {
		return fmt.Errorf("sampler: save: %w", err)
	}
	return nil
}

// restore takes over the state that another process's Save has written. Where it
// cannot be read the sampler starts without a past, and the event log says so.
func (s *Sampler) restore(in io.Reader) {
	if err := s.takeOver(in); err != nil {
		s.history.log.Append(snapshot.Event{
			Time: s.options.Clock(), Kind: snapshot.EventDriverBack, Severity: snapshot.Notice,
			Message: "restarted to read the driver; the history before is lost: " + lossWord(err),
		})
	}
}

// lossWord is why the state cannot be used.
func lossWord(err error) string {
	if errors.Is(err, store.ErrVersion) {
		return store.ErrVersion.Error()
	}
	return err.Error()
}

func (s *Sampler) takeOver(in io.Reader) error {
	r := new(roster)
	if err := gob.NewDecoder(in).Decode(r); err != nil {
		return fmt.Errorf("sampler: restore: %w", err)
	}
	if r.Version != rosterVersion {
		return store.ErrVersion
	}
	history, err := r.history()
	if err != nil {
		return err
	}
	s.history = history
	latest := r.Latest
	if latest == nil {
		return nil
	}
	s.before, s.restarted = latest, true
	s.sequence = latest.Sequence + 1
	s.ended = latest.Ended
	s.probeSeen = latest.ProbeSeen
	if latest.Interval > 0 {
		s.interval.Store(int64(min(max(latest.Interval, MinInterval), MaxInterval)))
	}
	for i := range latest.Rows {
		p := &latest.Rows[i]
		s.rows[p.ID] = &row{latest: p, peak: p.Peak, oom: r.OutOfMemory[p.ID]}
	}
	s.standing = latest.Alerts
	s.driver.restore(latest)
	s.takeOutlooks(r.Outlooks)
	// Rules that cannot be restored start over: an alert that stood is cleared at
	// the first tick, unless its rule raises it again.
	if err := s.alerts.Restore(r.Rules, latest); err != nil {
		s.alerts = alert.New(s.options.Thresholds)
	}
	return nil
}

// restore restores the GPUs before the driver is opened.
func (d *driver) restore(latest *snapshot.Snapshot) {
	was := &latest.Driver
	d.everOK = was.Version != ""
	if !d.everOK {
		return
	}
	d.state.Version, d.state.CUDAVersion = was.Version, was.CUDAVersion
	d.state.State, d.state.Since, d.state.Message = snapshot.DriverGone, was.Since, was.Message
	if was.State == snapshot.DriverOK {
		d.state.Since = latest.Time
	}
	for i := range latest.GPUs {
		if g := &latest.GPUs[i]; g.Name != "" { // not one that only probes name
			d.gpus = append(d.gpus, restoredGPU(g))
		}
	}
}

// restoredGPU is a GPU that has not been read yet.
func restoredGPU(g *snapshot.GPU) *gpu {
	return &gpu{
		device: nvml.Device{
			Index: g.Index, UUID: g.UUID, Name: g.Name, PCIBusID: g.PCIBusID,
			TemperatureSlowdown: g.TemperatureSlowdown, PowerLimit: g.PowerLimit,
		},
		last: &nvml.Reading{
			Memory:     nvml.Memory{Total: g.Memory.Total, Reserved: g.Memory.Reserved, Used: g.LastUsed},
			MIGEnabled: g.MIG,
		},
		state: g.State, since: g.Since, message: g.Message,
		idleSince: g.IdleSince, xids: g.XIDs,
		instances: make(map[snapshot.InstanceID]*instanceOutlook),
	}
}

// upgraded is the message of a driver that is back after a restart.
func upgraded(from, to string) string {
	if from == "" || from == to {
		return "the driver is back: " + to + "; restarted to read it"
	}
	return fmt.Sprintf("the driver was upgraded: %s → %s; restarted to read it", from, to)
}
