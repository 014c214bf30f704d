package quantity

import "testing"

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]Bytes{
		"4GiB": 4 * GiB, "4G": 4 * GiB, "4g": 4 * GiB, "1.5 GiB": 1536 * MiB, "512MiB": 512 * MiB, "512m": 512 * MiB,
		"1TiB": TiB, "64k": 64 * KiB, "4GB": 4e9, "123": 123, "123b": 123, "0": 0, ".5G": 512 * MiB,
		"9007199254740993": 9007199254740993,
	} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", " ", "G", "4X", "4GiBs", "4 4G", "-1G", "1e3", "0x10", "1_000", "infinity", "nan", "NaNG", "9999999PiB", "four", "4G-",
	} {
		if got, err := ParseBytes(text); err == nil {
			t.Errorf("ParseBytes(%q) = %d, want an error", text, got)
		}
	}
}
