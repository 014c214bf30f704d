// An allocator for torch.cuda.memory.CUDAPluggableAllocator whose memory can go to
// sleep, as in vLLM's sleep mode: it is unmapped and released, and its addresses stay.

#include <dlfcn.h>
#include <stddef.h>

enum { MOST = 64, GRANULE = 2 << 20, DEVICE = 1, PINNED = 1, READ_AND_WRITE = 3 };

typedef unsigned long long address;

struct location {
    int type, id;
};

struct properties { // CUmemAllocationProp
    int type, handles;
    struct location location;
    void *windows;
    unsigned char flags[8];
};

struct access { // CUmemAccessDesc
    struct location location;
    int flags;
};

static struct piece {
    address at, handle;
    size_t size;
    int device;
} pieces[MOST];

// call returns a function of the driver, which PyTorch has loaded.
static void *call(const char *name) {
    return dlsym(dlopen("libcuda.so.1", RTLD_LAZY), name);
}

static int map(struct piece *p) {
    int (*create)(address *, size_t, const struct properties *, unsigned long long) = call("cuMemCreate");
    int (*memory_map)(address, size_t, size_t, address, unsigned long long) = call("cuMemMap");
    int (*allow)(address, size_t, const struct access *, size_t) = call("cuMemSetAccess");
    struct properties properties = {.type = PINNED, .location = {DEVICE, p->device}};
    struct access access = {{DEVICE, p->device}, READ_AND_WRITE};
    int failed = create(&p->handle, p->size, &properties, 0);
    failed = failed ? failed : memory_map(p->at, p->size, 0, p->handle, 0);
    return failed ? failed : allow(p->at, p->size, &access, 1);
}

static int unmap(const struct piece *p) {
    int (*memory_unmap)(address, size_t) = call("cuMemUnmap");
    int (*release)(address) = call("cuMemRelease");
    int failed = memory_unmap(p->at, p->size);
    return failed ? failed : release(p->handle);
}

static int all(int (*change)(struct piece *)) {
    int failed = 0;
    for (int i = 0; i < MOST && !failed; i++) {
        failed = pieces[i].size ? change(&pieces[i]) : 0;
    }
    return failed;
}

int doze(void) {
    return all((int (*)(struct piece *))unmap);
}

int wake(void) {
    return all(map);
}

void *take(ptrdiff_t size, int device, void *stream) {
    int (*reserve)(address *, size_t, size_t, address, unsigned long long) = call("cuMemAddressReserve");
    (void)stream;
    for (int i = 0; i < MOST; i++) {
        struct piece *p = &pieces[i];
        if (p->size == 0) {
            *p = (struct piece){.size = ((size_t)size + GRANULE - 1) / GRANULE * GRANULE, .device = device};
            return reserve(&p->at, p->size, 0, 0, 0) || map(p) ? NULL : (void *)p->at;
        }
    }
    return NULL;
}

void give(void *pointer, ptrdiff_t size, int device, void *stream) {
    int (*free_addresses)(address, size_t) = call("cuMemAddressFree");
    (void)size;
    (void)device;
    (void)stream;
    for (int i = 0; i < MOST; i++) {
        struct piece *p = &pieces[i];
        if (p->size && p->at == (address)pointer) {
            unmap(p); // fails if the piece is asleep
            free_addresses(p->at, p->size);
            p->size = 0;
        }
    }
}
