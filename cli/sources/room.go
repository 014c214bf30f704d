package sources

import (
	"context"
	"fmt"
	"time"

	"vramscope/action/flush"
	"vramscope/daemon/socket"
	"vramscope/internal/quantity"
	"vramscope/lease"
	"vramscope/schema"
	"vramscope/server"
)

// holdRoom claims a lease, for ttl, of the memory that a server has freed on each device. If ttl is
// 0, it ends these leases.
func (src *Set) holdRoom(ctx context.Context, s *server.Server, result *flush.Result, ttl time.Duration) (notes []string) {
	command := fmt.Sprintf("room of %s, PID %d", s.Name, s.Process.PID)
	if ttl == 0 {
		src.endRoom(ctx, command)
		return nil
	}
	for _, claim := range roomClaims(result, ttl, command) {
		given, err := socket.ClaimLease(ctx, src.Program.Daemons(), claim, func(schema.Lease) {})
		if err != nil {
			notes = append(notes, "its room is not held, and waking it may fail: "+err.Error())
			continue
		}
		notes = append(notes, fmt.Sprintf("lease %s holds its %s until resume, or for %s; %s=%s vramscope run --need … takes from it", given.ID, given.NeedBytes, quantity.BriefDuration(ttl), lease.Variable, given.ID))
	}
	return notes
}

// endRoom ends the leases with a command. Leases that it cannot end expire by their TTL.
func (src *Set) endRoom(ctx context.Context, command string) {
	client, err := socket.DialLeases(ctx, src.Program.Daemons())
	if err != nil {
		return
	}
	defer func() { _ = client.Close() }() // it has answered
	all, _ := client.Leases(ctx)          // empty after an error
	for i := range all {
		if string(all[i].Command) == command {
			_, _ = client.ReleaseLease(ctx, string(all[i].ID)) // fails if the lease has ended already
		}
	}
}

// roomClaims returns a claim for each device on which memory was freed: a lease of several devices
// would need the same amount on each.
func roomClaims(result *flush.Result, ttl time.Duration, command string) (claims []socket.Claim) {
	const sampled = 5 * time.Second // until the daemon has sampled the freed memory
	for i := range result.Devices {
		if d := &result.Devices[i]; d.Freed() > 0 {
			claims = append(claims, socket.Claim{Ask: lease.Ask{Wait: sampled, Claim: lease.Claim{Need: d.Freed(), Count: 1, Among: []string{d.UUID}, TTL: ttl, Command: command}}})
		}
	}
	return claims
}
