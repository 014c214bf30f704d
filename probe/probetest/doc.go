// Package probetest runs the protocol's conformance vectors against a server in
// any language:
//
//	vectors (JSON) → steps → socket → answers → match
//
// probe/testdata/conformance/README.md describes the vectors and the rules. Start
// reading at Run; match.go compares an answer with what a step expects.
package probetest
