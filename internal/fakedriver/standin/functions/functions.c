/*
 * The answers of a stand-in's functions. The generator defines WANT_name for each wanted
 * function that is here. Every other function returns 0, which is success in all of these
 * libraries, and fills in nothing.
 *
 * Programs refuse a library that is older than the one that they were compiled
 * against. So most versions here are higher than any, in each library's own notation.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EMPTY(name) long name(void) { return 0; }

/* A part of a version, by libraryPropertyType: 0 major, 1 minor, 2 patch level. */
#define PROPERTY(name, major) int name(int which, int *value) { *value = which == 0 ? major : which == 1 ? 99 : 0; return 0; }
#ifdef WANT_cublasGetProperty
PROPERTY(cublasGetProperty, 12)
#endif
#ifdef WANT_cublasLtGetProperty
PROPERTY(cublasLtGetProperty, 12)
#endif
#ifdef WANT_cudnnGetProperty
PROPERTY(cudnnGetProperty, 9)
#endif
#ifdef WANT_cufftGetProperty
PROPERTY(cufftGetProperty, 11)
#endif
#ifdef WANT_cusolverGetProperty
PROPERTY(cusolverGetProperty, 11)
#endif
#ifdef WANT_cusparseGetProperty
PROPERTY(cusparseGetProperty, 12)
#endif
#ifdef WANT_cudnnGetVersion
size_t cudnnGetVersion(void) { return 99900; }
#endif
#ifdef WANT_cudnnGetCudartVersion
size_t cudnnGetCudartVersion(void) { return 12090; }
#endif
#ifdef WANT_cudnnGetErrorString
const char *cudnnGetErrorString(int status) { (void)status; return "CUDNN_STATUS_SUCCESS"; }
#endif
#ifdef WANT_cudnnCreate
int cudnnCreate(void **handle) { static int made; *handle = &made; return 0; }
#endif
/* For each operation there is one engine, which needs no memory. */
#ifdef WANT_cudnnBackendCreateDescriptor
int cudnnBackendCreateDescriptor(int type, void **descriptor) { static int made; (void)type; *descriptor = &made; return 0; }
#endif
#ifdef WANT_cudnnBackendGetAttribute
int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t requested, int64_t *count, void *elements)
{
	enum { INT64 = 3, DESCRIPTOR = 15 };
	(void)descriptor, (void)name;
	if (type == INT64 && requested > 0 && elements)
		*(int64_t *)elements = 0;
	if (count)
		*count = type == INT64 || type == DESCRIPTOR;
	return 0;
}
#endif
#ifdef WANT_cublasGetVersion_v2
int cublasGetVersion_v2(void *handle, int *version) { (void)handle; *version = 129900; return 0; }
#endif
#ifdef WANT_cublasLtGetVersion
size_t cublasLtGetVersion(void) { return 129900; }
#endif
#ifdef WANT_cublasGetStatusString
const char *cublasGetStatusString(int status) { (void)status; return "CUBLAS_STATUS_SUCCESS"; }
#endif
#ifdef WANT_cufftGetVersion
int cufftGetVersion(int *version) { *version = 11999; return 0; }
#endif
#ifdef WANT_cusparseGetVersion
int cusparseGetVersion(void *handle, int *version) { (void)handle; *version = 12999; return 0; }
#endif
#ifdef WANT_cusparseGetErrorString
const char *cusparseGetErrorString(int status) { (void)status; return "success"; }
#endif
#ifdef WANT_cusolverGetVersion
int cusolverGetVersion(int *version) { *version = 11999; return 0; }
#endif
#ifdef WANT_cuptiGetVersion
int cuptiGetVersion(uint32_t *version) { *version = 26; return 0; }
#endif
#ifdef WANT_ncclGetVersion
int ncclGetVersion(int *version) { *version = 29999; return 0; }
#endif
#ifdef WANT_ncclGetErrorString
const char *ncclGetErrorString(int status) { (void)status; return "no error"; }
#endif
#ifdef WANT_ncclGetLastError
const char *ncclGetLastError(void *communicator) { (void)communicator; return ""; }
#endif
#ifdef WANT_nvrtcVersion
int nvrtcVersion(int *major, int *minor) { *major = 12; *minor = 9; return 0; }
#endif
#ifdef WANT_nvrtcGetErrorString
const char *nvrtcGetErrorString(int status) { (void)status; return "NVRTC_SUCCESS"; }
#endif
