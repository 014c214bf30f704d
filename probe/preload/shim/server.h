/* The state of the serving thread: its loop is in serve.c, its start and end in life.c. */
#ifndef VRAMSCOPE_PRELOAD_SERVER_H
#define VRAMSCOPE_PRELOAD_SERVER_H

#include "connection.h"
#include "fork.h"

#include <sys/types.h>

enum { MONITORS = 16 };

struct server {
	struct address address;
	int bound;
	int out_of_files; /* the program is out of descriptors: accept fails for a while */
	struct descriptor wakeup, waker; /* a pipe, because an eventfd has no inode of its own to check */
	uint64_t checked;
	struct main_thread main_thread;
	pid_t pid; /* the process that made the address */
	struct connection connections[MONITORS];
	struct text answer;
	/* The running flush: its thread sets flush_done, the loop polls it. */
	struct flush flush;
	struct text flushed;
	int flushing, flush_done;
	uint64_t flush_id;
	struct connection *asker;
	uint64_t asker_serial;
};
extern struct server server;

/* Held by the loop except while it waits, so that exit and another probe see a consistent state. */
extern struct lock server_loop;

int serves(void);
/* Starts a detached thread that blocks signals; 0: failed. */
int start_thread(void *(*run)(void *));
void *serve_run(void *unused);
/* Waits until only this many of our threads are left. It reads the main thread's status meanwhile, and makes no other system call. */
void park(int own_threads);

#endif
