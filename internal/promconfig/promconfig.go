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

// Read reads a file into a struct. It refuses a key that the struct lacks by its name, with
// the advice there is for that key, or else with usual.
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

// TLSVersion is TLS10 to TLS13; 0 where the file names none.
type TLSVersion uint16

var versions = map[string]TLSVersion{"TLS10": tls.VersionTLS10, "TLS11": tls.VersionTLS11, "TLS12": tls.VersionTLS12, "TLS13": tls.VersionTLS13}

// UnmarshalYAML implements yaml.Unmarshaler.
func (v *TLSVersion) UnmarshalYAML(unmarshal func(any) error) (err error) {
	*v, err = Named(unmarshal, "TLS version", versions)
	return err
}

// Named reads the name of a value.
func Named[T any](unmarshal func(any) error, kind string, values map[string]T) (value T, err error) {
	var name string
	if err := unmarshal(&name); err != nil {
		return value, err
	}
	value, ok := values[name]
	if !ok {
		return value, fmt.Errorf("unknown %s: %s", kind, name)
	}
	return value, nil
}
