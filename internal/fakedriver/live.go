package fakedriver

// End takes a process out of the box.
func (s State) End(pid uint64) {
	for i := range s.GPUs {
		s.GPUs[i].End(pid)
	}
}

// At returns the state of a changing box so many seconds after the start. The same second always
// gives the same state. The first process of each GPU grows in a sawtooth, and the others vary a
// little, except idle ones. The last process of the last GPU leaks until its GPU is full, then starts
// again. The last process of GPU 1 comes and goes. A GPU that is lost in s is there in the first half
// of each minute, and lost in the second half.
func (s State) At(second int) State {
	state := s.Clone()
	for i := range state.GPUs {
		gpu := &state.GPUs[i]
		if gpu.Lost {
			gpu.Lost = second%60 >= 30
			for range (second + 30) / 60 {
				gpu.Raise(79) // "GPU has fallen off the bus"
			}
		}
		if last := len(gpu.Processes) - 1; i == 1 && last > 0 && second/20%3 == 2 {
			gpu.End(gpu.Processes[last].PID)
		}
		leak := i == len(state.GPUs)-1
		for j := range gpu.Processes {
			p := gpu.Processes[j]
			switch {
			case p.Used == Unavailable || p.SM == Absent || p.SM == 0:
				// An idle process does not change.
			case leak && j == len(gpu.Processes)-1:
				const perSecond = 48 * mib
				room := int(gpu.Free / perSecond)
				gpu.Resize(p.PID, p.Used+uint64(second%(room+1))*perSecond)
			case j == 0:
				gpu.Resize(p.PID, p.Used-p.Used/8/mib*mib+uint64((second+7*i)%30)*(p.Used/8/30/mib)*mib)
			default:
				gpu.Resize(p.PID, p.Used-p.Used/40/mib*mib*uint64((second/5+i+j)%3))
			}
		}
		// A triangle between 0 and 8, shifted from GPU to GPU.
		swing := uint64((second + 3*i) % 16)
		swing = min(swing, 16-swing)
		gpu.Energy += uint64(second) * gpu.Power
		if gpu.Utilization >= 8 {
			gpu.Energy -= 4000 * swung(second, 3*i)
			gpu.Utilization -= swing
			gpu.Power -= swing * 4000
			gpu.Temperature -= swing / 3
		}
	}
	return state
}

// swung returns the sum of the triangle's values from second 1 to the given one, with a shift.
func swung(seconds, shift int) (sum uint64) {
	const period, area = 16, 64
	for second := 1; second <= seconds%period; second++ {
		swing := uint64((second + shift) % period)
		sum += min(swing, period-swing)
	}
	return sum + uint64(seconds/period)*area
}
