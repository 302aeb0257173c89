// Package coretest has what the tests of the two cores (master/core, slave/core) share: a core is
// pure ([Pure]), and does as its transcripts say ([Transcripts]).
package coretest
