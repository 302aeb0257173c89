#include "textflag.h"

#define SYS_clone3 435
#define CLONE_ARGS_SIZE 88

// func rawVfork(args *cloneArgs, p *plan) (pid, errno uintptr)
//
// The parent finds its stack as it left it: the child has its own, whose end
// the kernel has put in SP. R12 is the same in both.
TEXT ·rawVfork(SB),NOSPLIT,$0-32
	MOVQ	args+0(FP), DI
	MOVQ	p+8(FP), R12
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
	PUSHQ	R12
	CALL	·child(SB)
	INT	$3
