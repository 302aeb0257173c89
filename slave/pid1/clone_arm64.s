#include "textflag.h"

#define SYS_clone3 435
#define CLONE_ARGS_SIZE 88

// func rawClone(args *cloneArgs, e *entry) (pid, errno uintptr)
//
// The parent's stack is unchanged: the child has its own, whose end the kernel has put
// in RSP. R19 is the same in both. born is called by its address, as Go calls a function
// value: otherwise a wrapper in between would tell the race detector that a goroutine
// runs here.
TEXT ·rawClone(SB),NOSPLIT,$0-32
	MOVD	args+0(FP), R0
	MOVD	e+8(FP), R19
	MOVD	$CLONE_ARGS_SIZE, R1
	MOVD	$SYS_clone3, R8
	SVC
	CBZ	R0, inchild
	CMN	$4095, R0
	BCC	ok
	NEG	R0, R0
	MOVD	$-1, R1
	MOVD	R1, pid+16(FP)
	MOVD	R0, errno+24(FP)
	RET
ok:
	MOVD	R0, pid+16(FP)
	MOVD	ZR, errno+24(FP)
	RET
inchild:
	SUB	$32, RSP
	MOVD	R19, R0
	MOVD	·bornAt(SB), R1
	CALL	(R1)
	BRK
