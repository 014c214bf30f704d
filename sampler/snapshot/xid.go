package snapshot

// XIDMeaning is the meaning of a critical error.
type XIDMeaning struct {
	Urgent bool   // memory or the GPU itself is at stake, not a program alone
	Words  string // at most 22 cells with "Xid NN " before it; "" where unknown
	Advice string
}

// Meaning looks the error up in NVIDIA's catalog.
// https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html
func (x XID) Meaning() XIDMeaning {
	switch x.Code {
	case 13:
		return XIDMeaning{false, "bad program", "an exception in a kernel; usually the program is at fault"}
	case 31:
		return XIDMeaning{false, "page fault", "a kernel used an address that is not its own; usually the program is at fault"}
	case 43:
		return XIDMeaning{false, "program halted", "a program did something wrong and was stopped; the GPU is fine"}
	case 45:
		return XIDMeaning{false, "program removed", "the driver cleaned up after a program"}
	case 48:
		return XIDMeaning{true, "double-bit ECC", "memory is damaged beyond repair; end its jobs and reset it"}
	case 63:
		return XIDMeaning{true, "row remapped", "a bad row of memory is replaced at the next reset of the GPU"}
	case 64:
		return XIDMeaning{true, "remap failed", "bad memory could not be replaced; reset it, and have it checked"}
	case 74:
		return XIDMeaning{true, "NVLink error", "a link to another GPU failed; see nvidia-smi nvlink -e"}
	case 79:
		return XIDMeaning{true, "off the bus", "the GPU has fallen off the bus; restart the machine"}
	case 92:
		return XIDMeaning{false, "many ECC fixes", "single-bit errors come often; have its memory checked"}
	case 94:
		return XIDMeaning{true, "contained ECC", "an ECC error hit one program; restart that, reset the GPU when it is free"}
	case 95:
		return XIDMeaning{true, "uncontained ECC", "an ECC error hit every program on it; reset it"}
	case 119:
		return XIDMeaning{false, "GSP timeout", "the GPU's firmware did not answer; reset it if that comes again"}
	default:
		return XIDMeaning{Advice: "dmesg | grep Xid has the details"}
	}
}
