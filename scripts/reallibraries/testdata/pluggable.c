// An allocator for torch.cuda.memory.CUDAPluggableAllocator that allocates each
// tensor by CUDA's runtime, which PyTorch has loaded.

#include <dlfcn.h>
#include <stddef.h>

static void *runtime(const char *name) {
    void *library = dlopen("libcudart.so.13", RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) {
        library = dlopen("libcudart.so.12", RTLD_LAZY | RTLD_NOLOAD);
    }
    return library == NULL ? NULL : dlsym(library, name);
}

void *take(ptrdiff_t size, int device, void *stream) {
    int (*cuda_malloc)(void **, size_t) = (int (*)(void **, size_t))runtime("cudaMalloc");
    void *pointer = NULL;
    (void)device; // PyTorch has made the device current
    (void)stream;
    if (cuda_malloc == NULL || cuda_malloc(&pointer, (size_t)size) != 0) {
        return NULL;
    }
    return pointer;
}

void give(void *pointer, ptrdiff_t size, int device, void *stream) {
    int (*cuda_free)(void *) = (int (*)(void *))runtime("cudaFree");
    (void)size;
    (void)device;
    (void)stream;
    if (cuda_free != NULL) {
        cuda_free(pointer);
    }
}
