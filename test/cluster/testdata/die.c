// "die SIGNAL" dies of a signal, and leaves no core behind.
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rlimit none = {0, 0};

	if (argc != 2 || setrlimit(RLIMIT_CORE, &none) < 0)
		return 2;
	kill(getpid(), atoi(argv[1]));
	return 1;
}
