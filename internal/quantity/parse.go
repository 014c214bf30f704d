package quantity

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseBytes parses an amount of memory: "4GiB", "4G", "1.5g", "512MiB", or a number of bytes. A
// letter without B is the binary unit; "4GB" is 4·10⁹ bytes. Fractions of a byte are cut off.
func ParseBytes(text string) (Bytes, error) {
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	unit, known := unitOf(strings.ToLower(strings.TrimSpace(text[len(number):])))
	value, err := strconv.ParseFloat(number, 64)
	if err != nil || !known || strings.ContainsAny(number, "eExX_") {
		return 0, fmt.Errorf("%q is not an amount of memory: write 4GiB, 512MiB or a number of bytes", text)
	}
	bytes := value * unit
	if !(bytes >= 0 && bytes < math.MaxInt64) {
		return 0, fmt.Errorf("%q is out of range", text)
	}
	if whole, err := strconv.ParseInt(number, 10, 64); err == nil && unit == 1 {
		return Bytes(whole), nil // a float64 cannot hold every int64
	}
	return Bytes(bytes), nil
}

func unitOf(name string) (float64, bool) {
	if name == "" || name == "b" {
		return 1, true
	}
	power := strings.IndexByte("kmgtp", name[0]) + 1
	switch {
	case power == 0:
		return 0, false
	case name[1:] == "" || name[1:] == "ib":
		return math.Pow(1024, float64(power)), true
	case name[1:] == "b":
		return math.Pow(1000, float64(power)), true
	}
	return 0, false
}
