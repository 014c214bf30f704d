//go:build linux && cgo

package nvml

import (
	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"vramscope/internal/quantity"
)

// readLoad reads how busy and how hot the GPU is, and its clocks.
func (r *reading) readLoad() {
	if r.can(symUtilization) && !r.result.MIGEnabled {
		// Under MIG there is no utilisation of the whole GPU.
		rates, ret := r.handle.GetUtilizationRates()
		if r.ok(symUtilization, code(ret)) {
			r.result.Utilization = intFigure(rates.Gpu, 100)
			r.result.MemoryUtilization = intFigure(rates.Memory, 100)
		}
	}
	if r.can(symTemperature) {
		celsius, ret := r.handle.GetTemperature(gonvml.TEMPERATURE_GPU)
		if r.ok(symTemperature, code(ret)) {
			r.result.Temperature = intFigure(celsius, highestTemperature)
		}
	} else if r.can(symTemperatureV) {
		answer, ret := r.handle.GetTemperatureV().V1()
		if r.ok(symTemperatureV, code(ret)) && answer.Temperature >= 0 {
			r.result.Temperature = intFigure(uint32(answer.Temperature), highestTemperature)
		}
	}
	if r.can(symFan) {
		percent, ret := r.handle.GetFanSpeed()
		if r.ok(symFan, code(ret)) {
			r.result.Fan = intFigure(percent, 200) // of the intended speed, which a fan may exceed
		}
	}
	if r.can(symPerformanceState) {
		state, ret := r.handle.GetPerformanceState()
		if r.ok(symPerformanceState, code(ret)) && state >= 0 { // PSTATE_UNKNOWN is 32
			r.result.PerformanceState = intFigure(uint32(state), 15)
		}
	}
	r.result.SMClock = r.clock(gonvml.CLOCK_SM)
	r.result.MemoryClock = r.clock(gonvml.CLOCK_MEM)
}

// clock reads one clock in MHz.
func (r *reading) clock(kind gonvml.ClockType) quantity.Optional[int] {
	if !r.can(symClock) {
		return quantity.Unknown[int]()
	}
	megahertz, ret := r.handle.GetClockInfo(kind)
	if !r.ok(symClock, code(ret)) {
		return quantity.Unknown[int]()
	}
	return intFigure(megahertz, highestClock)
}

// readPower reads the power and the limit, which an administrator may change at
// any time.
func (r *reading) readPower() {
	if r.can(symPower) {
		milliwatts, ret := r.handle.GetPowerUsage()
		if r.ok(symPower, code(ret)) {
			r.result.Power = watts(milliwatts)
		}
	}
	if r.can(symPowerLimit) {
		milliwatts, ret := r.handle.GetEnforcedPowerLimit()
		if r.ok(symPowerLimit, code(ret)) {
			r.result.Device.PowerLimit = watts(milliwatts)
		}
	}
}

// readThrottle reads the reasons for lowered clocks. Release 535 renamed the call;
// the bits are the same.
func (r *reading) readThrottle() {
	switch {
	case r.can(symEventReasons):
		reasons, ret := r.handle.GetCurrentClocksEventReasons()
		if r.ok(symEventReasons, code(ret)) {
			r.result.Throttle = quantity.From(Throttle(reasons), quantity.Driver)
		}
	case r.can(symThrottleReasons):
		reasons, ret := r.handle.GetCurrentClocksThrottleReasons()
		if r.ok(symThrottleReasons, code(ret)) {
			r.result.Throttle = quantity.From(Throttle(reasons), quantity.Driver)
		}
	}
}

// readECC reads the errors since the driver was loaded. The mode changes only with
// a reset; Open has read it.
func (r *reading) readECC() {
	r.result.ECC.Enabled = r.ecc
	if !r.ecc.Or(false) {
		return
	}
	r.result.ECC.Corrected = r.eccErrors(gonvml.MEMORY_ERROR_TYPE_CORRECTED)
	r.result.ECC.Uncorrected = r.eccErrors(gonvml.MEMORY_ERROR_TYPE_UNCORRECTED)
}

// eccErrors counts one kind of error.
func (r *reading) eccErrors(kind gonvml.MemoryErrorType) quantity.Optional[uint64] {
	if !r.can(symECCErrors) {
		return quantity.Unknown[uint64]()
	}
	errors, ret := r.handle.GetTotalEccErrors(kind, gonvml.VOLATILE_ECC)
	if !r.ok(symECCErrors, code(ret)) {
		return quantity.Unknown[uint64]()
	}
	return count(errors)
}
