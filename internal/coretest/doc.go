// Package coretest has the common tests of the two cores (master/core, slave/core): a core is pure
// ([Pure]) and behaves as in its transcripts ([Transcripts]).
package coretest
