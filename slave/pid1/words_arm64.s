#include "textflag.h"

// func load(word *uint32) uint32
TEXT ·load(SB),NOSPLIT,$0-12
	MOVD	word+0(FP), R0
	LDARW	(R0), R0
	MOVW	R0, ret+8(FP)
	RET

// func store(word *uint32, value uint32)
TEXT ·store(SB),NOSPLIT,$0-12
	MOVD	word+0(FP), R0
	MOVWU	value+8(FP), R1
	STLRW	R1, (R0)
	RET
