/*
 * Returns the state of the file.
 *
 * The file is replaced by rename, so an open file is complete. Each call costs one
 * stat, far less than a real driver's ioctl. The file is read again only after a
 * change of its inode, time or size.
 */
#include "state.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct counted {
	struct state *state;
	struct counted *next;
	size_t holders; /* acquirers, and one for being current */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* Guarded by mutex. */
static struct counted *all, *current;
static struct stat seen;
static struct timespec looked; /* when the file was last checked */

static int same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Reads the whole file and its stat. */
static char *read_file(const char *path, struct stat *info)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return NULL;
	char *text = NULL;
	size_t length = 0;
	if (fstat(file, info) == 0 && (text = malloc((size_t)info->st_size + 1))) {
		ssize_t got;
		while (length < (size_t)info->st_size &&
		       (got = read(file, text + length, (size_t)info->st_size - length)) > 0)
			length += (size_t)got;
		text[length] = 0;
	}
	close(file);
	return text;
}

static void drop(struct counted *entry)
{
	if (--entry->holders)
		return;
	struct counted **link = &all;
	while (*link != entry)
		link = &(*link)->next;
	*link = entry->next;
	state_free(entry->state);
	free(entry);
}

static void become_current(struct state *state)
{
	if (current)
		drop(current);
	current = NULL;
	struct counted *entry = state ? calloc(1, sizeof *entry) : NULL;
	if (!entry) {
		state_free(state);
		return;
	}
	*entry = (struct counted){ .state = state, .next = all, .holders = 1 };
	all = current = entry;
}

static void reload(const char *path)
{
	struct stat now;
	if (stat(path, &now) != 0) {
		become_current(NULL);
		memset(&seen, 0, sizeof seen);
		return;
	}
	if (same_file(&now, &seen))
		return;
	char *text = read_file(path, &seen);
	char message[200] = "";
	struct state *state = text ? state_parse(text, message, sizeof message) : NULL;
	if (*message)
		fprintf(stderr, "fake driver: %s: %s\n", path, message);
	become_current(state);
	free(text);
}

static const struct state *acquire(int recent)
{
	const char *path = getenv("VRAMSCOPE_FAKE_STATE");
	if (!path)
		return NULL;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	pthread_mutex_lock(&mutex);
	if (!recent || now.tv_sec != looked.tv_sec || now.tv_nsec != looked.tv_nsec)
		reload(path);
	looked = now;
	const struct state *state = NULL;
	if (current) {
		current->holders++;
		state = current->state;
	}
	pthread_mutex_unlock(&mutex);
	return state;
}

const struct state *state_acquire(void)
{
	return acquire(0);
}

const struct state *state_acquire_recent(void)
{
	return acquire(1);
}

void state_release(const struct state *state)
{
	if (!state)
		return;
	pthread_mutex_lock(&mutex);
	for (struct counted *entry = all; entry; entry = entry->next)
		if (entry->state == state) {
			drop(entry);
			break;
		}
	pthread_mutex_unlock(&mutex);
}
