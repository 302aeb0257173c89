#include "textflag.h"

#define SYS_clone3 435
#define CLONE_ARGS_SIZE 88

// func rawVfork(args *cloneArgs, p *plan) (pid, errno uintptr)
//
// The parent finds its stack as it left it: the child has its own, whose end
// the kernel has put in RSP. R19 is the same in both.
TEXT ·rawVfork(SB),NOSPLIT,$0-32
	MOVD	args+0(FP), R0
	MOVD	p+8(FP), R19
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
	MOVD	R19, 8(RSP)
	CALL	·child(SB)
	BRK
