/* Embeds Python: embedding main SCRIPT | embedding initialize ROUNDS. */
#include <Python.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (!strcmp(argv[1], "main")) {
		argv[1] = argv[0];
		return Py_BytesMain(argc - 1, argv + 1);
	}
	for (int round = 0; round < atoi(argv[2]); round++) {
		char code[200];
		Py_Initialize();
		snprintf(code, sizeof code, "import zoo; zoo.meet(%d); zoo.end(); zoo._held.clear()", round);
		if (PyRun_SimpleString(code) || Py_FinalizeEx())
			return 1;
		printf("round %d\n", round);
		fflush(stdout);
	}
	return 5;
}
