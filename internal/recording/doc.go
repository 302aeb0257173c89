// Package recording keeps the inputs of a core, one per line, and replays them to another core.
// Since the outputs of a core depend on its inputs alone, the other core does the same.
//
// A line has the time in nanoseconds since 1970, the name of the input's type and the input in
// JSON. The first line of a core's life has the word begin and the configuration instead of an
// input.
//
//	1764000000000000000 begin {"Lease":30000000000,...}
//	1764000000100000000 FromNode {"Session":1,"Number":0,"Message":{"Type":20,"Body":{...}}}
//
// [Ring] keeps the last lines in files. [Replay] reads lines.
package recording
