//go:build linux && cgo

package nvml

import (
	"math"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"vramscope/internal/quantity"
	"vramscope/metric"
)

// readLoad reads utilisation, temperature, SM clock and power.
func (r *reading) readLoad() {
	if !r.result.MIGEnabled { // under MIG there is no utilisation of the whole GPU
		if rates, ok := ask(r, symUtilization, r.handle.GetUtilizationRates); ok {
			r.result.Utilization = intFigure(rates.Gpu, 100)
			r.result.MemoryUtilization = intFigure(rates.Memory, 100)
		}
	}
	if r.can(symTemperature) {
		celsius, ret := r.handle.GetTemperature(gonvml.TEMPERATURE_GPU)
		if r.ok(symTemperature, ret) {
			r.result.Temperature = intFigure(celsius, highestTemperature)
		}
	} else if answer, ok := ask(r, symTemperatureV, r.handle.GetTemperatureV().V1); ok && answer.Temperature >= 0 {
		r.result.Temperature = intFigure(uint32(answer.Temperature), highestTemperature)
	}
	r.result.SMClock = r.clock(symClock, r.handle.GetClockInfo, gonvml.CLOCK_SM)
	if milliwatts, ok := ask(r, symPower, r.handle.GetPowerUsage); ok {
		r.result.Power = watts(milliwatts)
	}
}

// readUnlisted reads the changing metrics that the list of GPUs does not show.
func (r *reading) readUnlisted() {
	if percent, ok := ask(r, symFan, r.handle.GetFanSpeed); ok {
		r.result.Fan = intFigure(percent, 200) // per cent of the intended speed, which a fan may exceed
	} else {
		r.result.Fan = metric.Int{}
	}
	r.result.PerformanceState = metric.Int{}
	if state, ok := ask(r, symPerformanceState, r.handle.GetPerformanceState); ok && state >= 0 { // PSTATE_UNKNOWN is 32
		r.result.PerformanceState = intFigure(uint32(state), 15)
	}
	r.result.MemoryClock = r.clock(symClock, r.handle.GetClockInfo, gonvml.CLOCK_MEM)
}

// clock reads one clock in MHz.
func (r *reading) clock(call symbol, get func(gonvml.ClockType) (uint32, gonvml.Return), kind gonvml.ClockType) metric.Int {
	if megahertz, ok := ask(r, call, func() (uint32, gonvml.Return) { return get(kind) }); ok {
		return intFigure(megahertz, highestClock)
	}
	return metric.Int{}
}

// readThrottle reads the reasons for lowered clocks. Release 535 renamed the call; the bits are the same.
func (r *reading) readThrottle() {
	call, get := symEventReasons, r.handle.GetCurrentClocksEventReasons
	if !r.can(call) {
		call, get = symThrottleReasons, r.handle.GetCurrentClocksThrottleReasons
	}
	if reasons, ok := ask(r, call, get); ok {
		r.result.Throttle = quantity.From(Throttle(reasons), quantity.Driver)
		r.result.ClockReasons = intFigure(uint32(min(reasons, math.MaxUint32)), highestReason)
	}
}

// readECC reads the ECC mode, and the errors since the driver was loaded.
func (r *reading) readECC() {
	if !r.can(symECCMode) {
		return
	}
	current, _, ret := r.handle.GetEccMode()
	if !r.ok(symECCMode, ret) {
		return
	}
	r.result.ECC.Enabled = quantity.From(current == gonvml.FEATURE_ENABLED, quantity.Driver)
	if current == gonvml.FEATURE_ENABLED {
		r.result.ECC.Corrected = r.eccErrors(gonvml.MEMORY_ERROR_TYPE_CORRECTED)
		r.result.ECC.Uncorrected = r.eccErrors(gonvml.MEMORY_ERROR_TYPE_UNCORRECTED)
	}
}

func (r *reading) eccErrors(kind gonvml.MemoryErrorType) quantity.Optional[uint64] {
	errors, ok := ask(r, symECCErrors, func() (uint64, gonvml.Return) { return r.handle.GetTotalEccErrors(kind, gonvml.VOLATILE_ECC) })
	if !ok {
		return quantity.Unknown[uint64]()
	}
	return count(errors)
}
