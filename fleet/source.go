package fleet

import (
	"context"
	"time"

	"vramscope/sampler/snapshot"
)

// Source reports a fleet. Its methods may take as long as their context.
type Source interface {
	// Look returns the first lines in the query's order.
	Look(ctx context.Context, q Query) (*Picture, error)
	// Totals sums up all GPUs that the query's filter lets through.
	Totals(ctx context.Context, q Query) (Totals, error)
	// Box returns one box at a moment; the zero time is now.
	Box(ctx context.Context, box string, at time.Time) (*snapshot.Snapshot, error)
	// Past returns the known series of a box between two moments.
	Past(ctx context.Context, box string, from, to time.Time) (Past, error)
	// Room returns the boxes on which a job has room.
	Room(ctx context.Context, q RoomQuery) (Room, error)
}

// Past is a box's series.
type Past map[snapshot.SeriesKey][]Sample

// Sample is a value at a moment, in the metric's unit.
type Sample struct {
	Time  time.Time
	Value int64
}

// Query selects a part of a fleet.
type Query struct {
	Lines  int // the limit, for each kind of problem and for the rest
	Fit    int // how many lines fit in view, for Fitting
	Unit   Unit
	Sort   Sort
	Filter Filter
}

// Unit is the thing that a line shows.
type Unit uint8

// Fitting means GPUs if all GPUs fit in view, else boxes. A user or a job has the memory of its own
// processes.
const (
	Fitting Unit = iota
	GPUs
	Boxes
	Users
	Jobs
)

// Word returns the name of a unit.
func (u Unit) Word() string {
	return [...]string{Fitting: "", GPUs: "GPUs", Boxes: "boxes", Users: "users", Jobs: "jobs"}[u]
}

// Next returns the unit after this one.
func (u Unit) Next() Unit {
	return [...]Unit{Fitting: Boxes, Boxes: GPUs, GPUs: Users, Users: Jobs, Jobs: Boxes}[u]
}

// OfProcesses reports whether lines are sums of processes, not GPUs.
func (u Unit) OfProcesses() bool { return u >= Users }

// Sort is the order of the lines.
type Sort uint8

const (
	ByWorst Sort = iota
	ByUsed
	ByFree
	ByCached
	ByUtilization
	sortCount
)

// Word returns the name of an order.
func (s Sort) Word() string {
	return [...]string{"worst", "used", "free", "cached", "utilization"}[s]
}

// Next returns the order at a distance of by places, which may be negative.
func (s Sort) Next(by int) Sort { return Sort((int(s) + by + int(sortCount)) % int(sortCount)) }
