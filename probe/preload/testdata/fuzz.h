/* libFuzzer's targets: https://llvm.org/docs/LibFuzzer.html. A false CHECK is a finding. */
#ifndef VRAMSCOPE_PRELOAD_FUZZ_H
#define VRAMSCOPE_PRELOAD_FUZZ_H

#include "serve.h"

#include <stdlib.h>

#define CHECK(condition)         \
	do {                     \
		if (!(condition)) \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
