// Package bed plays a story under a policy, with the real sampler, forecasts, alerts
// and guard:
//
//	story.Cast → world.World ─ as driver, probes, /proc → sampler ─ Snapshot → guard.Engine
//	                 ↑                                                             │
//	                 └── after Latency: Job.Flush, and its outcome ←── decisions ──┘
//
// A rescue is as probe/preload and the daemon make it: asked for at the second
// refusal of an allocation, on a fresh sample, at most so often a minute.
//
// Start reading at Play.
package bed
