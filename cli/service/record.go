package service

import (
	"sync"
	"time"

	"vramscope/cli/config"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
)

// startRecording records from the moment at which it can: a directory that cannot be
// written to now may be later.
func startRecording(s *config.Settings, directory string) *recording.Writer {
	options := recording.Options{Keep: s.Keep, MaxSize: int64(s.MaxSize), Commands: recording.NameOnly}
	if s.Commands == "full" {
		options.Commands = recording.Full
	}
	return recording.Start(directory, options)
}

// longPast returns what a daemon, or the one before it, has recorded, nil while that is
// nothing: its clients can ask for it. They wait for the disk; the sampler does not.
func longPast(directory string, now func() time.Time) func() snapshot.History {
	var mu sync.Mutex
	var opened *recording.Recording // nil until there is something to read
	var retryAt time.Time
	return func() snapshot.History {
		mu.Lock()
		defer mu.Unlock()
		if now := now(); opened == nil && !now.Before(retryAt) {
			opened, _ = recording.Open(directory) // the recorder says what is wrong with it
			retryAt = now.Add(time.Minute)
		}
		if opened == nil {
			return nil
		}
		return opened
	}
}
