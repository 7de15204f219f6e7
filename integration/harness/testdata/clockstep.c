// A wall clock that can be stepped while a program runs: preloaded, it adds to the machine's clock the nanoseconds that
// stand, as a 64-bit integer, in the file CLOCK_STEP_FILE. Other clocks are left alone.
//
// libfaketime does the same, but not for a program linked with jemalloc, as Debian's redis-server is: jemalloc asks for
// the time before libfaketime is ready, and the program ends.

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t zero;
static volatile int64_t *offset = &zero;

__attribute__((constructor)) static void open_file(void) {
	const char *path = getenv("CLOCK_STEP_FILE");
	int fd = path ? open(path, O_RDONLY) : -1;
	if (fd < 0) return;
	void *page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) offset = page;
	close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *at) {
	const int64_t second = 1000000000;
	int result = (int)syscall(SYS_clock_gettime, clock, at);
	if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
		int64_t ns = (int64_t)at->tv_sec * second + at->tv_nsec + *offset;
		at->tv_sec = ns / second;
		at->tv_nsec = ns % second;
	}
	return result;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
	struct timespec now;
	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
	at->tv_sec = now.tv_sec;
	at->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *at) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (at) *at = now.tv_sec;
	return now.tv_sec;
}
