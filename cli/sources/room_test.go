package sources

import (
	"slices"
	"testing"
	"time"

	"vramscope/action/flush"
	"vramscope/internal/quantity"
)

// TestRoomIsHeldWhereItWasFreed: a claim for each device needs exactly the memory that was freed there.
func TestRoomIsHeldWhereItWasFreed(t *testing.T) {
	claims := roomClaims(&flush.Result{Devices: []flush.Device{
		{UUID: "GPU-1", Before: 40 * quantity.GiB, After: quantity.GiB}, {UUID: "GPU-2", Before: quantity.GiB, After: quantity.GiB}, {UUID: "GPU-3", Before: 6 * quantity.GiB, After: quantity.GiB},
	}}, time.Hour, "room")
	if len(claims) != 2 {
		t.Fatalf("%+v", claims)
	}
	for i, want := range []quantity.Bytes{39 * quantity.GiB, 5 * quantity.GiB} {
		if c := claims[i]; c.Need != want || c.Count != 1 || !slices.Equal(c.Among, []string{[]string{"GPU-1", "GPU-3"}[i]}) || c.TTL != time.Hour || c.Command != "room" {
			t.Errorf("%+v", c)
		}
	}
}
