package launch

import (
	"fmt"
	"os"
	"slices"
	"time"

	"vramscope/cli/command"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/recording"
)

// needAuto is the value of --need for what the command needed before.
const needAuto = "auto"

// recordedNeed returns the 95 % quantile of the peaks that this user's runs of a program had, contexts included, by the driver; of
// fewer than 20 runs the highest. It says which runs these are.
func recordedNeed(p *command.Program, argv []string) (string, error) {
	directory, program, own := p.RecordingsOf(false), process.Program(argv), uint32(os.Geteuid())
	var rows []recording.ProcessRow
	r, err := recording.Open(directory)
	if err == nil {
		oldest, newest := r.Span()
		rows, err = r.Processes(oldest, newest.Add(time.Second))
		_ = r.Close() // it was only read
	}
	if err != nil {
		return "", command.Refused(err, "--need auto: %v", err)
	}
	runs := map[process.Identity]bool{}
	var peaks []quantity.Bytes
	var last time.Time
	for i := range rows {
		row := &rows[i]
		peak, known := row.Peak.Value()
		if !known || row.Ended.IsZero() || process.Program(row.Command) != program || row.UID.Or(^own) != own {
			continue
		}
		if runs[row.ID.Process] {
			return "", command.Refused(nil, "--need auto: %s used several GPUs on %s: write --need NxSIZE", text.Clean(program), row.First.Format(time.DateTime))
		}
		runs[row.ID.Process], last = true, row.Ended
		peaks = append(peaks, peak)
	}
	if len(peaks) == 0 {
		return "", command.Refused(nil, "--need auto: no run of %s that has ended is in %s: write --need SIZE", text.Clean(program), directory)
	}
	slices.Sort(peaks)
	need := peaks[(len(peaks)*95+99)/100-1]
	p.Warn("need: %s, by the peaks of %d runs of %s (%s to %s, the last ended %s)", need, len(peaks), text.Clean(program), peaks[0], peaks[len(peaks)-1], last.Format(time.DateTime))
	return fmt.Sprint(int64(need)), nil
}
