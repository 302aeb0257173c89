// Package file reads job files. A job file is a bpm.yml, as bpm reads it, with five more keys:
// nodes, autostart, shutdown_timeout, restart and logs. docs/jobs.md describes all keys.
//
// [Read] takes the bytes of a file and returns a [Job], or an [Error] with all problems of the
// file. It reads nothing else and stores nothing: the package is pure.
//
// The keys form a table (keys.go). The reader follows it, and so does [Schema], the JSON schema for
// editors. A value is of a kind (values.go), which defines how to read it and what its schema is.
// The allowed values are in rules.go.
//
// The cost of a file is bounded by its size, the number of its values with all aliases expanded,
// and the depth of merges (tree.go). The table bounds the depth of reading: values below unknown
// keys are not read.
package file
