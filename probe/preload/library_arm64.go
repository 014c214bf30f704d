package preload

import _ "embed"

//go:embed libvramscope-arm64.so
var library []byte
