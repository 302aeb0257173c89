package main

import (
	"context"
	"fmt"
)

// project makes a C project of forty files in a directory of its own, and prints how many
// nanoseconds it takes to compile it.
const project = `
set -e
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT
cd "$dir"
objects=
for i in $(seq 40); do
	objects="$objects f$i.o"
	{
		echo '#include <stdio.h>'
		echo '#include <stdlib.h>'
		echo '#include <string.h>'
		for j in $(seq 20); do
			echo "int f${i}_$j(char *s, int n) { int k = 0; for (int i = 0; i < n; i++) k += s[i] * $j + strlen(s); return k; }"
		done
	} >f$i.c
done
echo 'int main(void) { return 0; }' >main.c
printf 'prog: main.o%s\n\tcc -o $@ $^\n' "$objects" >Makefile
begin=$(date +%s%N)
make -j2 >/dev/null
echo $(($(date +%s%N) - begin))
`

// compile measures a make, in milliseconds.
func compile(on where) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		text, err := on(ctx, b, "sh", "-c", project)
		if err != nil {
			return 0, err
		}
		var nanoseconds float64
		_, err = fmt.Sscan(text, &nanoseconds)
		return nanoseconds / 1e6, err
	}
}
