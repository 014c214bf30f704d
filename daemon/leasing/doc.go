// Package leasing keeps the daemon's ledger of leases: with the processes that belong to each, and
// on disk.
//
//	snapshots ─→ Observe ─→ Run ─ members (/proc) ─ reading ─→ lease.Ledger ─→ journal, events
//	socket.Server ─ Claim, Renew, Release, Leases ────────────────↗    └─→ wakes who waits
//
// What changes is written to the journal before it is answered, so that it survives the daemon.
// No process is ever harmed: a lease that is overrun is an event.
//
// Start reading at Keeper.
package leasing
