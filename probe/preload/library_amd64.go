package preload

import _ "embed"

//go:embed libvramscope-amd64.so.gz
var packed []byte
