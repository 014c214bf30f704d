package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"vramscope/guard"
	"vramscope/internal/quantity"
)

// mostGPU is the highest index in a range: no box has more GPUs.
const mostGPU = 1023

// gpus is "0-3,5", "GPU-8f1c…", a number, or a list of these.
func (r *reader) gpus(key string) (gpus []string) {
	r.known = append(r.known, key)
	var items []any
	switch value := r.table[key].(type) {
	case nil:
		return nil
	case []any:
		items = value
	case string:
		for item := range strings.SplitSeq(value, ",") {
			items = append(items, strings.TrimSpace(item))
		}
	default:
		items = []any{value}
	}
	if len(items) == 0 {
		r.fail(key, errors.New("the list is empty: without the key it is every GPU"))
	}
	for _, item := range items {
		switch item := item.(type) {
		case int64:
			if item < 0 || item > mostGPU {
				r.fail(key, fmt.Errorf("%d is no GPU's index", item))
			}
			gpus = append(gpus, strconv.FormatInt(item, 10))
		case string:
			some, err := gpuRange(item)
			r.fail(key, err)
			gpus = append(gpus, some...)
		default:
			r.fail(key, errors.New(`want a GPU's index, "0-3", a UUID, or a list of these`))
		}
	}
	return gpus
}

// gpuRange is "2", "0-3" or a GPU's UUID.
func gpuRange(item string) ([]string, error) {
	if strings.HasPrefix(item, "GPU-") && len(item) > len("GPU-") {
		return []string{item}, nil
	}
	from, to, ranged := strings.Cut(item, "-")
	if !ranged {
		to = from
	}
	first, err := strconv.ParseUint(from, 10, 16)
	last, lastErr := strconv.ParseUint(to, 10, 16)
	if err != nil || lastErr != nil || last < first || last > mostGPU {
		return nil, fmt.Errorf("%q is neither a GPU's index, nor a range like 0-3, nor a UUID (GPU-…)", item)
	}
	var gpus []string
	for i := first; i <= last; i++ {
		gpus = append(gpus, strconv.FormatUint(i, 10))
	}
	return gpus, nil
}

// amount is a share, "10%", or a size, "8GiB".
func (r *reader) amount(key string) (a guard.Amount) {
	value := r.text(key)
	if value == "" {
		return a
	}
	number, share := strings.CutSuffix(value, "%")
	if !share {
		size, err := quantity.ParseBytes(value)
		if err == nil && size < quantity.MiB { // most likely without its unit
			err = fmt.Errorf("%q is less than 1MiB: write 10%%, or a size like 8GiB", value)
		}
		r.fail(key, err)
		return guard.Amount{Bytes: max(size, 0)}
	}
	percent, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(percent > 0 && percent < 100) {
		r.fail(key, fmt.Errorf("%q is no share: write 10%%, or a size like 8GiB", value))
		return a
	}
	return guard.Amount{Percent: percent}
}

func (r *reader) duration(key string, least time.Duration) time.Duration {
	value := r.text(key)
	if value == "" {
		return 0
	}
	d, err := Duration(value, least, 24*time.Hour)
	r.fail(key, err)
	return d
}
