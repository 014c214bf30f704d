package probe

// DecodeReport reads a line of stats as a monitor does.
func DecodeReport(line []byte) (Report, error) {
	var answer statsLine
	if err := decode(line, &answer); err != nil {
		return Report{}, err
	}
	return answer.Report, answer.check()
}
