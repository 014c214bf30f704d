/* Streams that are being captured into graphs. Meanwhile a flush frees nothing more, and memory
 * allocated in a captured stream belongs to the graph.
 */
#include "shim.h"

#include <sys/syscall.h>
#include <unistd.h>

enum { CAPTURES = 64 };

struct capture {
	uint64_t stream;
	long thread; /* the caller's for a default stream, else 0 */
	uint16_t context;
	uint8_t running;
};

static struct {
	struct lock lock;
	int running;
	struct capture list[CAPTURES];
} captures;

static struct capture named(CUstream stream)
{
	uint64_t handle = (uint64_t)(uintptr_t)stream;
	/* Special handles: null, the legacy default stream, the per-thread default stream. */
	return (struct capture){ .stream = handle, .thread = handle <= 2 ? syscall(SYS_gettid) : 0, .running = 1 };
}

static struct capture *find(const struct capture *wanted)
{
	for (int i = 0; i < CAPTURES; i++) {
		struct capture *capture = &captures.list[i];
		if (capture->running && capture->stream == wanted->stream && capture->thread == wanted->thread)
			return capture;
	}
	return NULL;
}

static void end(struct capture *capture)
{
	capture->running = 0;
	__atomic_sub_fetch(&captures.running, 1, __ATOMIC_RELAXED);
}

void capture_begun(CUstream stream)
{
	struct capture begun = named(stream);
	begun.context = place_now().context;
	stats_lock(&captures.lock);
	for (int i = 0; !find(&begun) && i < CAPTURES; i++)
		if (!captures.list[i].running) {
			captures.list[i] = begun;
			__atomic_add_fetch(&captures.running, 1, __ATOMIC_RELAXED);
		}
	stats_unlock(&captures.lock);
}

void capture_ended(CUstream stream)
{
	if (!captures_running())
		return;
	struct capture ended = named(stream);
	stats_lock(&captures.lock);
	struct capture *capture = find(&ended);
	if (capture)
		end(capture);
	stats_unlock(&captures.lock);
}

void captures_of_context_ended(uint16_t context)
{
	stats_lock(&captures.lock);
	for (int i = 0; i < CAPTURES; i++)
		if (captures.list[i].running && captures.list[i].context == context)
			end(&captures.list[i]);
	stats_unlock(&captures.lock);
}

int captures_running(void)
{
	return __atomic_load_n(&captures.running, __ATOMIC_RELAXED);
}

int capture_of(CUstream stream)
{
	if (!captures_running())
		return 0;
	struct capture wanted = named(stream);
	stats_lock(&captures.lock);
	int found = find(&wanted) != NULL;
	stats_unlock(&captures.lock);
	return found;
}

void captures_reset(void)
{
	memset(&captures, 0, sizeof captures);
}
