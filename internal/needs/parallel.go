package needs

import (
	"flag"
	"runtime"
	"strconv"
)

// Parallel sets -parallel to n tests for each processor, unless the command line names another
// number. It is for packages whose tests mostly wait. TestMain calls it.
func Parallel(n int) {
	flag.Parse()
	processors := runtime.GOMAXPROCS(0)
	if parallel := flag.Lookup("test.parallel").Value; parallel.String() == strconv.Itoa(processors) {
		_ = parallel.Set(strconv.Itoa(n * processors)) // it is a number
	}
}
