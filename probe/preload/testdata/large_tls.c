/* Variables of each thread's own that take most of a small stack: glibc puts them there. */
__thread char large_tls[LARGE_TLS << 10];

__attribute__((constructor)) static void touch(void)
{
	*(volatile char *)large_tls = 1;
}
