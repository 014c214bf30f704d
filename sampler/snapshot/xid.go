package snapshot

type XIDMeaning struct {
	Urgent bool   // memory or the GPU itself is at stake, not just a program
	Words  string // at most 22 cells with "Xid NN " before it; "" if unknown
	Advice string
}

// xidMeanings are from NVIDIA's catalog:
// https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html
var xidMeanings = map[uint64]XIDMeaning{
	13:  {false, "bad program", "an exception in a kernel; usually the program is at fault"},
	31:  {false, "page fault", "a kernel used an address that is not its own; usually the program is at fault"},
	43:  {false, "program halted", "a program did something wrong and was stopped; the GPU is fine"},
	45:  {false, "program removed", "the driver cleaned up after a program"},
	48:  {true, "double-bit ECC", "memory is damaged beyond repair; end its jobs and reset it"},
	63:  {true, "row remapped", "a bad row of memory is replaced at the next reset of the GPU"},
	64:  {true, "remap failed", "bad memory could not be replaced; reset it, and have it checked"},
	74:  {true, "NVLink error", "a link to another GPU failed; see nvidia-smi nvlink -e"},
	79:  {true, "off the bus", "the GPU has fallen off the bus; restart the machine"},
	92:  {false, "many ECC fixes", "single-bit errors come often; have its memory checked"},
	94:  {true, "contained ECC", "an ECC error hit one program; restart that, reset the GPU when it is free"},
	95:  {true, "uncontained ECC", "an ECC error hit every program on it; reset it"},
	119: {false, "GSP timeout", "the GPU's firmware did not answer; reset it if that comes again"},
}

func (x XID) Meaning() XIDMeaning {
	if meaning, known := xidMeanings[x.Code]; known {
		return meaning
	}
	return XIDMeaning{Advice: "dmesg | grep Xid has the details"}
}
