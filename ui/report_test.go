package ui

import (
	"errors"
	"strings"
	"testing"
	"time"

	"vramscope/sampler/snapshot"
)

// without returns the small box without its driver.
func without(second int) *snapshot.Snapshot {
	s := smallBox(2, 2, second)
	s.Driver.State, s.Driver.Since, s.Driver.RetryAt = snapshot.DriverGone, s.Time, s.Time.Add(30*time.Second)
	return s
}

// TestDriverScreenRetriesAndShowsDoctor: r retries the driver and d shows doctor's report, only without a driver.
func TestDriverScreenRetriesAndShowsDoctor(t *testing.T) {
	looked := 0
	m := newTestModel(t, without(0), func(o *Options) {
		o.LookNow = func() { looked++ }
		o.Doctor = func() []string {
			return append([]string{"vramscope on h100-03", "", "driver", "  no  kernel module  none is loaded"},
				strings.Split(strings.Repeat("  ok  more\n", 40)+"  ok  the end", "\n")...)
		}
	})
	m.shows("? help  r retry now  d doctor  E events  q quit")
	m.press("r")
	if looked != 1 {
		t.Errorf("r looked %d times", looked)
	}
	m.shows("trying the driver")
	m.press("d")
	m.shows("kernel module  none is loaded")
	m.hides("the end")
	m.press("G")
	m.shows("the end")
	m.press("q")
	if m.ended || m.st.overlay != nil {
		t.Error("q does not close the report")
	}
	m.tick(smallBox(2, 2, 1))
	m.press("d", "r")
	if m.st.overlay != nil || looked != 1 || !m.st.Sort.Reversed {
		t.Error("with a driver d and r mean what they mean without one")
	}
}

// TestSaveWritesWhatIsShown: w writes the past if the screen shows it, and reports a failure.
func TestSaveWritesWhatIsShown(t *testing.T) {
	var saved []time.Time
	failure := error(nil)
	moments := []*snapshot.Snapshot{smallBox(2, 2, -60), smallBox(2, 2, -10), smallBox(2, 2, 0)}
	m := newTestModel(t, smallBox(2, 2, 0), func(o *Options) {
		o.History = fakeHistory{moments: moments}
		o.Save = func(s *snapshot.Snapshot) (string, error) {
			saved = append(saved, s.Time)
			return "/state/snapshot.json", failure
		}
	})
	m.press("w")
	m.shows("saved /state/snapshot.json")
	failure = errors.New("snapshot not saved: no space left on device")
	m.press(",", "w")
	m.shows("snapshot not saved: no space left on device")
	if len(saved) != 2 || !saved[0].Equal(noon()) || !saved[1].Equal(noon().Add(-10*time.Second)) {
		t.Errorf("saved the moments %v", saved)
	}
}

func TestStartingDriverIsNotReportedMissing(t *testing.T) {
	s := without(0)
	s.GPUs, s.Rows, s.Driver.State = nil, nil, snapshot.DriverStarting
	m := newTestModel(t, s, nil)
	m.shows("WAITING")
	m.shows("the driver has not answered yet")
	m.hides("no driver")
	m.hides("NO DRIVER")
}
