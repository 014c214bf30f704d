// Package simulator is a simulated GPU box that implements all of the sampler's sources: the
// driver, the probes and /proc. --demo shows it, and tests run hours of it in seconds.
//
//	clock ─→ Box ── steps of 250 ms ──→ slots ── tasks ── programs ── allocators ── frames of the boards
//	              └─ Open, Read (driver) · Answers (probes) · Processes, Host (/proc)
//
// The story is on eight H100s: a data-parallel pair with an epoch sawtooth (GPU 0 and 1), an LLM server
// with a preallocated cache (2), a leak that fills its GPU in minutes, runs out of memory and starts again
// (3), a fragmented job (4), MIG instances (5), a GPU that is lost and comes back (6), a JAX job beside a
// foreign pid (7), and between them processes without a probe and short-lived ones.
//
// The programs are scripted. The reports of their probes come from simulated allocators, so that
// reserved = allocated + cached + fragmented, and a flush frees the returnable memory.
//
// The story may have a prelude, which fills the history. Time counts from the beginning of the story
// and is negative in the prelude:
//
//	New ── −Prelude ─────────── 0 ── 9 s: a retry ── 12 s: GPU 3 90 % full ── 30–37 s: GPU 6 lost ─→
//
// The same seed and prelude give the same story. At every call, the state moves in fixed steps up to the
// time of the clock, so that the calls do not change the story. Options.Shortage is another story.
//
// Start reading at New and Box.move; story.go has the roles.
package simulator
