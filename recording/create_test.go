package recording

// Create is like Start, but fails if the folder cannot be written yet.
func Create(directory string, options Options) (*Writer, error) {
	w, err := newWriter(directory, options)
	if err != nil {
		return nil, err
	}
	go w.run()
	return w, nil
}
