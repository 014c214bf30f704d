package preload

import _ "embed"

//go:embed libvramscope-amd64.so
var library []byte
