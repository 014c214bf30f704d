// Command table plays every story under every policy, and prints the results or writes them into docs/guard.md:
//
//	story.All × seeds × bed.Policies → bed.Play → scores → tables, aims
//	                    × costs      → bed.Play → the sweep over the cost of a flush
//
//	-first, -seeds   the seeds: below 5000 for tuning, others for a report
//	-details         every story under every policy
//	-floors T        what other jobs lose with the policies and oracles whose names have this text
//	-write F         write between the marks of a document instead of printing
//
// Start reading at run (main.go).
package main
