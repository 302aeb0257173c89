// Prints a line. Linked statically, it opens nothing.
#include <stdio.h>

int main(void)
{
	return puts("alone") < 0;
}
