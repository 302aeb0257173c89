// Package rights carries frames of package wire, and open descriptors with them, over a unix stream
// socket (unix(7), SCM_RIGHTS). The slave daemon and the init of its process space communicate
// through it.
//
// The descriptors of a frame travel with its first byte. The receiver never asks the kernel for
// more bytes than the present frame still has, so all descriptors that arrive until its last byte
// belong to it.
package rights
