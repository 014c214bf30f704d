/*
 * The wheel nvidia-cuda-runtime lacks this header, which its cuda_runtime_api.h
 * includes. Its macros mean nothing to a C compiler.
 */
#define __host__
#define __device__
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __align__(bytes)
#define CUDARTAPI
#define CUDARTAPI_CDECL
