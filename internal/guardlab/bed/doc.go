// Package bed plays a story under a policy, with the real sampler, forecasts, alerts
// and guard:
//
//	story.Cast → world.World ─ as driver, probes, /proc → sampler ─ Snapshot → guard.Engine
//	                 ↑                                                             │
//	                 └── after Latency: Job.Flush, and its outcome ←── decisions ──┘
//
// A rescue works as in probe/preload and the daemon: it is asked for at the second refusal of an
// allocation, on a fresh sample, at most ten times a minute.
//
// Start reading at Play.
package bed
