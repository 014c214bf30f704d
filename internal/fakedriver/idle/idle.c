/*
 * A process that does nothing until its standard input ends: somebody for a
 * GPU's memory to belong to. Started under any name: what /proc says of it is
 * what monitors show. When whoever holds the other end of its input dies, in
 * whatever way, it ends.
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
