package gpus

// Columns are the titles of a GPU's figures, each with its meaning.
func Columns() [][2]string {
	return [][2]string{
		{"USED/TOTAL", "used memory, and all of it"},
		{"FREE", "memory that a process can allocate"},
		{"FLUSH", "what flushes of its processes free"},
		{"UTIL", "time in which a kernel ran"},
		{"MEM", "time in which memory was read or written"},
		{"TEMP", "in degrees Celsius"},
		{"POWER", "drawn now, and the limit in force"},
		{"CLOCK", "of the multiprocessors, in MHz"},
		{"ECC", "uncorrectable memory errors"},
		{"PR", "processes on it"},
		{"NOTE", "its worst condition, else who uses it"},
	}
}
