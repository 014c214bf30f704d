package simulator

import "math"

// mix returns a reproducible random number for each (seed, stream, n). The mixing is splitmix64's.
func mix(seed, stream, n uint64) uint64 {
	x := seed ^ stream*0x9e3779b97f4a7c15 ^ n*0xd1342543de82ef95
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// noise returns mix as a number between −1 and 1. It has no state, so extra calls do not change it.
func noise(seed, stream, n uint64) float64 {
	return float64(mix(seed, stream, n)>>11)/(1<<52) - 1
}

// wander returns smooth noise: it has a new random value every period and interpolates in between.
func wander(seed, stream uint64, at, period float64) float64 {
	whole := math.Floor(at / period)
	part := at/period - whole
	part = part * part * (3 - 2*part)
	n := uint64(int64(whole))
	return noise(seed, stream, n)*(1-part) + noise(seed, stream, n+1)*part
}
