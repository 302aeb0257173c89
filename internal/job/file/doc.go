// Package file reads job files. A job file is a bpm.yml, as bpm reads it, with five keys more:
// nodes, autostart, shutdown_timeout, restart and logs. docs/jobs.md describes all keys.
//
// [Read] takes the bytes of a file and returns a [Job], or an [Error] with everything that is wrong
// with the file. Nothing else is read, and nothing is kept: the package is pure.
//
// The keys are a table (keys.go). The reader follows it, and so does [Schema], the JSON schema
// for editors. A value is of a kind (values.go), which knows how it is read and what its schema
// is; what a value may be is in rules.go.
//
// The cost of a file is bounded: its size, how many values it has with all aliases followed,
// and how deep it is merged (tree.go). The table bounds how deep it is read: what is below an unknown key is not.
package file
