// Package story has the stories that the guard is evaluated on: jobs that share a
// GPU, with parameters drawn widely from a seed.
//
//	All ─→ Story.Draw(random) ─→ Cast: a GPU and its jobs ─→ world.New
//
// In a story that can be won, jobs keep memory in caches that others need: what is
// allocated always fits, apart from rare coincidences. In one that cannot, what is
// allocated does not fit, or nothing can be freed.
//
// Start reading at All.
package story
