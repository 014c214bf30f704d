/*
 * An idle process to own GPU memory, started under the name that monitors are to
 * show. It ends at the end of its standard input, that is, when the process that holds
 * the other end of the pipe ends.
 */
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc > 0) {
		const char *slash = strrchr(argv[0], '/');
		prctl(PR_SET_NAME, slash ? slash + 1 : argv[0], 0, 0, 0);
	}
	char byte;
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
