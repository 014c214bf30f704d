/*
 * A CUDA program for the tests: finds the driver's calls in the given way, runs a
 * scenario, prints the fake driver's stats, and waits for the end of its input.
 * For each byte of input it prints the stats again.
 *
 *   program WAY SCENARIO
 */
#include "program.h"

#include <stdlib.h>
#include <unistd.h>

char *program_path, *program_way;

void show(const char *what, int answer)
{
	printf("%s %d\n", what, answer);
}

int main(int count, char **arguments)
{
	char byte;
	if (count != 3)
		return 2;
	program_path = arguments[0];
	program_way = arguments[1];
	setvbuf(stdout, NULL, _IOLBF, 0);
	find_calls(arguments[1]);
	if (!play(arguments[2]))
		return 2;
	print_calls();
	print_stats();
	printf("ready\n");
	while (read(0, &byte, 1) > 0) {
		print_stats();
		printf("ready\n");
	}
	exit(7);
}
