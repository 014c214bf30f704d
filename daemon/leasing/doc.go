// Package leasing keeps the daemon's ledger of leases: it finds the processes of each lease, and
// keeps the leases on disk.
//
//	snapshots ─→ Observe ─→ Run ─ members (/proc) ─ reading ─→ lease.Ledger ─→ journal, events
//	socket.Server ─ Claim, Renew, Release, Leases ────────────────↗    └─→ wakes waiting claims
//
// A change is written to the journal before the request is answered, so the change survives the
// daemon. An overrun lease only causes an event.
//
// Start reading at Keeper.
package leasing
