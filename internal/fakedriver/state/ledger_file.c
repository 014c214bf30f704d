/* Making, growing and mapping the ledger's file. */
#define _GNU_SOURCE
#include "ledger_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION 1

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct ledger *opened; /* guarded by mutex; never closed, see ledger.h */

static struct contents *map(const char *path, int create, int *file)
{
	struct stat info;
	/* The file is opened only when it can be used: closing it again could drop another thread's lock. */
	if (!create && (stat(path, &info) != 0 || (size_t)info.st_size < sizeof(struct contents)))
		return NULL;
	*file = open(path, O_RDWR | O_CLOEXEC);
	if (*file < 0 && create && errno == ENOENT)
		*file = open(path, O_RDWR | O_CLOEXEC | O_CREAT, 0666);
	if (*file < 0)
		return NULL;
	if (create) {
		/* Processes of other users share the GPUs. Only the owner can set the mode, which is enough. */
		if (fchmod(*file, 0666) != 0 && errno != EPERM)
			return NULL;
		/* The file only ever grows, to this one size. */
		if (fstat(*file, &info) == 0 && (size_t)info.st_size < sizeof(struct contents) &&
		    ftruncate(*file, sizeof(struct contents)) != 0)
			return NULL;
	}
	if (fstat(*file, &info) != 0 || (size_t)info.st_size < sizeof(struct contents))
		return NULL;
	void *contents = mmap(NULL, sizeof(struct contents), PROT_READ | PROT_WRITE, MAP_SHARED, *file, 0);
	return contents == MAP_FAILED ? NULL : contents;
}

static struct ledger *open_beside(const char *state, int create)
{
	char *path = NULL;
	struct ledger *ledger = calloc(1, sizeof *ledger);
	if (ledger)
		ledger->file = -1;
	if (!ledger || asprintf(&path, "%s.ledger", state) < 0) {
		free(ledger);
		return NULL;
	}
	struct stat space = { 0 };
	if (stat("/proc/self/ns/pid", &space) == 0)
		ledger->space = (number)space.st_ino;
	ledger->contents = map(path, create, &ledger->file);
	number version = 0;
	if (ledger->contents && !atomic_compare_exchange_strong(&ledger->contents->version, &version, VERSION) &&
	    version != VERSION)
		ledger->contents = NULL;
	if (!ledger->contents || !(ledger->path = strdup(state))) {
		if (create)
			fprintf(stderr, "fake driver: %s: %s\n", path, version ? "of another version" : strerror(errno));
		if (ledger->file >= 0)
			close(ledger->file); /* the ledger is not kept, so no later call uses the file */
		free(ledger);
		ledger = NULL;
	}
	free(path);
	return ledger;
}

struct ledger *ledger_open(int create)
{
	const char *state = getenv("VRAMSCOPE_FAKE_STATE");
	if (!state)
		return NULL;
	pthread_mutex_lock(&mutex);
	struct ledger *ledger = opened;
	while (ledger && strcmp(ledger->path, state) != 0)
		ledger = ledger->next;
	if (!ledger && (ledger = open_beside(state, create))) {
		ledger->next = opened;
		opened = ledger;
	}
	pthread_mutex_unlock(&mutex);
	return ledger;
}
