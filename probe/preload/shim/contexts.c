/*
 * The current context of each thread, and its device. A hook may not ask CUDA, so
 * the calls are followed: contexts are numbered, and each thread has a stack of
 * them, as in the driver.
 *
 * Destroying a context frees its allocations. Its epoch is incremented before
 * that, so that allocations which another thread makes in a new context of the
 * same number are kept.
 */
#include "shim.h"

enum { CONTEXTS = 1024 };

struct context {
	uint64_t handle; /* 0: unused number */
	uint32_t retained;
	uint16_t epoch;
	uint8_t device; /* NOWHERE: not known yet */
	uint8_t primary, alive;
};

static struct {
	struct lock lock;
	int last; /* the highest number used so far */
	struct context list[CONTEXTS]; /* from 1 */
} contexts;

static uint16_t number_of(CUcontext handle)
{
	int last = __atomic_load_n(&contexts.last, __ATOMIC_ACQUIRE);
	for (int i = 1; handle && i <= last; i++)
		if (__atomic_load_n(&contexts.list[i].handle, __ATOMIC_RELAXED) == (uint64_t)(uintptr_t)handle)
			return (uint16_t)i;
	return 0;
}

/* Under the lock. */
static uint16_t number_for(CUcontext handle, CUdevice device)
{
	uint16_t number = number_of(handle);
	for (int i = 1; !number && i <= contexts.last; i++)
		if (!contexts.list[i].alive && !contexts.list[i].primary && !contexts.list[i].handle)
			number = (uint16_t)i;
	if (!number && contexts.last + 1 < CONTEXTS)
		number = (uint16_t)(contexts.last + 1);
	if (!number || device < 0 || device > NOWHERE)
		return 0;
	struct context *context = &contexts.list[number];
	__atomic_store_n(&context->device, (uint8_t)device, __ATOMIC_RELAXED);
	__atomic_store_n(&context->alive, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&context->handle, (uint64_t)(uintptr_t)handle, __ATOMIC_RELAXED);
	if (number > contexts.last)
		__atomic_store_n(&contexts.last, number, __ATOMIC_RELEASE);
	return number;
}

static void push(uint16_t number)
{
	struct thread *thread = &own_thread;
	/* Above this depth the current context is unknown. */
	int most = (int)(sizeof thread->stack / sizeof *thread->stack);
	if (thread->contexts < most)
		thread->stack[thread->contexts] = number;
	thread->contexts++;
}

static uint16_t top(void)
{
	const struct thread *thread = &own_thread;
	int most = (int)(sizeof thread->stack / sizeof *thread->stack);
	return thread->contexts > 0 && thread->contexts <= most ? thread->stack[thread->contexts - 1] : 0;
}

struct place place_now(void)
{
	uint16_t number = top();
	const struct context *context = &contexts.list[number];
	if (!number || !__atomic_load_n(&context->alive, __ATOMIC_RELAXED))
		return (struct place){ .device = NOWHERE };
	uint16_t epoch = __atomic_load_n(&context->epoch, __ATOMIC_RELAXED);
	return (struct place){ .context = number, .epoch = epoch, .device = __atomic_load_n(&context->device, __ATOMIC_RELAXED) };
}

void context_made(CUcontext handle, CUdevice device)
{
	stats_lock(&contexts.lock);
	uint16_t number = number_for(handle, device);
	stats_unlock(&contexts.lock);
	push(number);
	serve_wanted();
}

void context_retained(CUcontext handle, CUdevice device)
{
	stats_lock(&contexts.lock);
	uint16_t number = number_for(handle, device);
	if (number) {
		contexts.list[number].primary = 1;
		contexts.list[number].retained++;
	}
	stats_unlock(&contexts.lock);
	serve_wanted();
}

/* NVIDIA's runtime makes a primary context current before it retains the context. */
static uint16_t number_current(CUcontext handle)
{
	uint16_t number = number_of(handle);
	if (number)
		return number;
	stats_lock(&contexts.lock);
	number = number_of(handle); /* another thread may have retained it */
	if (!number)
		number = number_for(handle, NOWHERE);
	stats_unlock(&contexts.lock);
	return number;
}

void context_push(CUcontext handle)
{
	push(number_current(handle));
}

void context_set(CUcontext handle)
{
	context_pop();
	if (handle)
		push(number_current(handle));
}

void context_pop(void)
{
	if (own_thread.contexts > 0)
		own_thread.contexts--;
}

/* Under the lock. */
static void end(struct context *context)
{
	__atomic_add_fetch(&context->epoch, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&context->alive, 0, __ATOMIC_RELAXED);
}

struct teardown context_ending(CUcontext handle)
{
	stats_lock(&contexts.lock);
	uint16_t number = number_of(handle);
	struct teardown teardown = { .context = number, .epoch = contexts.list[number].epoch, .ends = 1 };
	if (number)
		end(&contexts.list[number]);
	stats_unlock(&contexts.lock);
	return teardown;
}

struct teardown primary_ending(CUdevice device, int all)
{
	struct teardown teardown = { .primary = 1 };
	stats_lock(&contexts.lock);
	for (int i = 1; i <= contexts.last; i++) {
		struct context *context = &contexts.list[i];
		if (!context->primary || context->device != device || !context->alive)
			continue;
		teardown.ends = all || context->retained <= 1;
		teardown.released = teardown.ends ? context->retained : 1;
		teardown.context = (uint16_t)i;
		teardown.epoch = context->epoch;
		context->retained -= teardown.released;
		if (teardown.ends)
			end(context);
	}
	stats_unlock(&contexts.lock);
	return teardown;
}

static int is_of_the_past(const struct entry *entry, const void *argument)
{
	const struct teardown *teardown = argument;
	return entry->context == teardown->context && entry->epoch == teardown->epoch;
}

static int is_pooled_there(const struct entry *entry, const void *argument)
{
	const uint8_t *device = argument;
	return entry->kind == POOLED && entry->device == *device;
}

void context_ended(struct teardown teardown, int succeeded)
{
	if (!teardown.context)
		return;
	struct context *context = &contexts.list[teardown.context];
	if (!succeeded) {
		stats_lock(&contexts.lock);
		if (teardown.ends) {
			__atomic_store_n(&context->epoch, teardown.epoch, __ATOMIC_RELAXED);
			__atomic_store_n(&context->alive, 1, __ATOMIC_RELAXED);
		}
		context->retained += teardown.released;
		stats_unlock(&contexts.lock);
		return;
	}
	if (!teardown.ends)
		return;
	uint8_t device = __atomic_load_n(&context->device, __ATOMIC_RELAXED);
	ledger_drop(&process.ledger, is_of_the_past, &teardown);
	captures_of_context_ended(teardown.context);
	if (!teardown.primary) {
		/* Another context may get this handle and number. A primary context keeps its handle. */
		stats_lock(&contexts.lock);
		if (!context->alive)
			__atomic_store_n(&context->handle, 0, __ATOMIC_RELAXED);
		stats_unlock(&contexts.lock);
		if (top() == teardown.context)
			context_pop();
	}
	/* A device's pools are freed with its last context. */
	if (device != NOWHERE && !device_in_use(device))
		ledger_drop(&process.ledger, is_pooled_there, &device);
}

int device_in_use(int device)
{
	int found = 0;
	stats_lock(&contexts.lock);
	for (int i = 1; i <= contexts.last && !found; i++)
		found = contexts.list[i].alive && contexts.list[i].device == device;
	stats_unlock(&contexts.lock);
	return found;
}

void contexts_reset(void)
{
	memset(&contexts, 0, sizeof contexts);
	own_thread = (struct thread){ 0 };
}
