#include "textflag.h"

#define SYS_clone3 435
#define CLONE_ARGS_SIZE 88

// func rawClone(args *cloneArgs, e *entry) (pid, errno uintptr)
//
// The parent's stack is unchanged: the child has its own, whose end the kernel has put
// in SP. R12 is the same in both. born is called by its address, as Go calls a function
// value: otherwise a wrapper in between would tell the race detector that a goroutine
// runs here.
TEXT ·rawClone(SB),NOSPLIT,$0-32
	MOVQ	args+0(FP), DI
	MOVQ	e+8(FP), R12
	MOVQ	$CLONE_ARGS_SIZE, SI
	MOVQ	$SYS_clone3, AX
	SYSCALL
	TESTQ	AX, AX
	JEQ	inchild
	CMPQ	AX, $0xfffffffffffff001
	JLS	ok
	NEGQ	AX
	MOVQ	$-1, pid+16(FP)
	MOVQ	AX, errno+24(FP)
	RET
ok:
	MOVQ	AX, pid+16(FP)
	MOVQ	$0, errno+24(FP)
	RET
inchild:
	MOVQ	R12, AX
	XORPS	X15, X15
	MOVQ	·bornAt(SB), CX
	CALL	CX
	INT	$3
