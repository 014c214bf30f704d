/* Thread-local variables that take most of a small stack, where glibc places them. */
__thread char large_tls[LARGE_TLS << 10];

__attribute__((constructor)) static void touch(void)
{
	*(volatile char *)large_tls = 1;
}
