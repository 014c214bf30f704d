// Package story defines the stories on which the guard is evaluated: jobs that share a GPU, with
// parameters drawn from wide ranges by a seed.
//
//	All ─→ Story.Draw(random) ─→ Cast: a GPU and its jobs ─→ world.New
//
// In a winnable story, jobs cache memory that other jobs need, and the allocated memory nearly always
// fits. In an unwinnable story, the allocated memory does not fit, or nothing can be freed. In a
// harmless story, nothing fails without a guard.
//
// Start reading at All.
package story
