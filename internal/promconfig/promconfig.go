// Package promconfig reads files in Prometheus' YAML forms: those of --web.config.file
// and --http-config.
package promconfig

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v2"
)

// Read reads a file into a struct. It refuses a key that the struct lacks, names it, and adds
// the key's advice, or usual if there is none.
func Read(path string, into any, advice map[string]string, usual string) error {
	content, err := os.ReadFile(path)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err // the caller names the file
	}
	err = yaml.UnmarshalStrict(content, into)
	if mistakes, ok := errors.AsType[*yaml.TypeError](err); ok {
		for i, mistake := range mistakes.Errors {
			line, found, _ := strings.Cut(mistake, "field ")
			if key, _, unknown := strings.Cut(found, " not found in type "); unknown {
				mistakes.Errors[i] = fmt.Sprintf("%s%s is not supported: %s", line, key, cmp.Or(advice[key], usual))
			}
		}
		return errors.New(strings.Join(mistakes.Errors, "; "))
	}
	return err
}

// Resolve makes relative paths in a file relative to its folder.
func Resolve(file string, paths ...*string) {
	for _, path := range paths {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(filepath.Dir(file), *path)
		}
	}
}

// Values reads what a configuration names. It keeps the first error.
type Values struct{ Err error }

// Text returns a text of the configuration or, if a file is named, the text of that file, which is
// read again each time.
func (v *Values) Text(text, file string) string {
	if file == "" {
		return text
	}
	content, err := os.ReadFile(file)
	v.Err = cmp.Or(v.Err, err)
	return strings.TrimSpace(string(content))
}

// Pick returns the value of a name, and the zero value without a name.
func Pick[T any](v *Values, kind, name string, values map[string]T) T {
	value, ok := values[name]
	if !ok && name != "" {
		v.Err = cmp.Or(v.Err, fmt.Errorf("unknown %s: %s", kind, name))
	}
	return value
}

// TLSVersion returns the version of a name: TLS10 to TLS13.
func (v *Values) TLSVersion(name string) uint16 {
	return Pick(v, "TLS version", name, map[string]uint16{"TLS10": tls.VersionTLS10, "TLS11": tls.VersionTLS11, "TLS12": tls.VersionTLS12, "TLS13": tls.VersionTLS13})
}
