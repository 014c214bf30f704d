/* What the serving thread has: its loop (serve.c), and its beginning and end (life.c). */
#ifndef VRAMSCOPE_PRELOAD_SERVER_H
#define VRAMSCOPE_PRELOAD_SERVER_H

#include "connection.h"
#include "fork.h"

enum { MONITORS = 16 };

struct server {
	struct address address;
	int bound;
	int out_of_files; /* the program has all descriptors it may have: nobody can be let in for a while */
	struct descriptor wakeup, waker; /* a pipe: what the kernel has for such things (eventfd) has no inode of its own */
	uint64_t looked, seen_alive;
	pid_t pid; /* who made the address */
	struct connection connections[MONITORS];
	struct text answer;
	/* The flush under way: the loop waits for done, the other thread sets it. */
	struct flush flush;
	struct text flushed;
	int flushing, flush_done;
	uint64_t flush_id;
	struct connection *asker;
	uint64_t asker_serial;
};
extern struct server server;

/* Held by the loop for all but its waiting, so that the end of the process, and another probe, find it in order. */
extern pthread_mutex_t server_loop;

int serves(void);
/* A thread that the program's signals never reach, and whom nobody joins; 0: there is none. */
int start_thread(void *(*run)(void *));
void *serve_run(void *unused);

#endif
