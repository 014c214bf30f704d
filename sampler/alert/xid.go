package alert

import (
	"vramscope/sampler/snapshot"
)

// xidMeaning is what a critical error means for memory.
type xidMeaning struct {
	code   uint64
	urgent bool   // memory or the GPU itself is at stake, not a program alone
	words  string // at most 22 cells with "Xid NN " before it
	advice string
}

// The catalogue, as far as it matters here, is
// https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html
var xidMeanings = [...]xidMeaning{
	{13, false, "bad program", "an exception in a kernel; usually the program is at fault"},
	{31, false, "page fault", "a kernel used an address that is not its own; usually the program is at fault"},
	{43, false, "program halted", "a program did something wrong and was stopped; the GPU is fine"},
	{45, false, "program removed", "the driver cleaned up after a program"},
	{48, true, "double-bit ECC", "memory is damaged beyond repair; end its jobs and reset it"},
	{63, true, "row remapped", "a bad row of memory is replaced at the next reset of the GPU"},
	{64, true, "remap failed", "bad memory could not be replaced; reset it, and have it checked"},
	{74, true, "NVLink error", "a link to another GPU failed; see nvidia-smi nvlink -e"},
	{79, true, "off the bus", "the GPU has fallen off the bus; restart the machine"},
	{92, false, "many ECC fixes", "single-bit errors come often; have its memory checked"},
	{94, true, "contained ECC", "an ECC error hit one program; restart that, reset the GPU when it is free"},
	{95, true, "uncontained ECC", "an ECC error hit every program on it; reset it"},
	{119, false, "GSP timeout", "the GPU's firmware did not answer; reset it if that comes again"},
}

func meaning(code uint64) xidMeaning {
	for _, m := range xidMeanings {
		if m.code == code {
			return m
		}
	}
	return xidMeaning{code: code, advice: "dmesg | grep Xid has the details"}
}

// xid alerts for the worst critical error of the last minutes, the newest of
// equal ones.
func (e *Evaluator) xid(found []candidate, snap *snapshot.Snapshot, g *snapshot.GPU) []candidate {
	var worst xidMeaning
	var seen snapshot.XID
	n := 0
	for _, x := range g.XIDs {
		if !within(snap.Time, x.Time, e.thresholds.XIDFor) {
			continue
		}
		n++
		m := meaning(x.Code)
		if n == 1 || m.urgent && !worst.urgent || m.urgent == worst.urgent && x.Time.After(seen.Time) {
			worst, seen = m, x
		}
	}
	if n == 0 {
		return found
	}
	a := snapshot.Alert{
		Kind: snapshot.AlertXID, Severity: snapshot.Notice, GPU: g.Index, GPUUUID: g.UUID, Since: seen.Time,
		Note:    note("Xid " + decimal(worst.code)),
		Message: "GPU " + number(g.Index) + " reported Xid " + decimal(worst.code),
		Advice:  worst.advice,
	}
	if worst.urgent {
		a.Severity = snapshot.Urgent
	}
	if worst.words != "" {
		a.Note = note(a.Note + " " + worst.words)
		a.Message += ", " + worst.words + ","
	}
	a.Message += " at " + clock(seen.Time)
	return append(found, candidate{Key: key{Kind: a.Kind, GPUUUID: g.UUID}, Hysteresis: atOnce, Alert: a})
}
