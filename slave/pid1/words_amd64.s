#include "textflag.h"

// func load(word *uint32) uint32
TEXT ·load(SB),NOSPLIT,$0-12
	MOVQ	word+0(FP), AX
	MOVL	(AX), AX
	MOVL	AX, ret+8(FP)
	RET

// func store(word *uint32, value uint32)
TEXT ·store(SB),NOSPLIT,$0-12
	MOVQ	word+0(FP), AX
	MOVL	value+8(FP), CX
	XCHGL	CX, (AX)
	RET
