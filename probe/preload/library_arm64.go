package preload

import _ "embed"

//go:embed libvramscope-arm64.so.gz
var packed []byte
