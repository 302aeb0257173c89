// A fork bomb: every process of it makes others as fast as it can. It ends after BIRTHS, so that it
// cannot take the host of the tests down.
#include "conform.h"

#include <stdatomic.h>
#include <sys/mman.h>

enum { BIRTHS = 2000 };

int main(void)
{
	atomic_int *births = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (births == MAP_FAILED)
		die("mmap");
	say("ready");
	while (atomic_fetch_add(births, 1) < BIRTHS)
		if (fork() < 0) {
			atomic_fetch_sub(births, 1);
			usleep(1000);
		}
	say("burnt out");
	for (;;)
		pause();
}
