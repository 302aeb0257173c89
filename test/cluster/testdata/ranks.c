/*
 * ranks is an MPI program: ranks [CODE [RANK]]. All ranks add their numbers up and pass a
 * token around; each says what came of it. With RANK, that one then gets SIGKILL. All others
 * exit with CODE.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, size, sum, token = 0;
	int code = argc > 1 ? atoi(argv[1]) : 0;
	int victim = argc > 2 ? atoi(argv[2]) : -1;
	char host[64] = "";

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	gethostname(host, sizeof(host) - 1);

	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

	if (rank > 0)
		MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	token++;
	MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
	if (rank == 0)
		MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

	printf("%d/%d on %s: sum %d, token %d\n", rank, size, host, sum, token);
	fflush(stdout);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == victim)
		raise(SIGKILL);
	MPI_Finalize();
	return code;
}
