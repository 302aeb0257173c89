// Package marks finds changes in procfs without opening a file. A BPF program passes over all
// threads of a PID namespace and gives each a number, made of what it has run and of what others
// can do to it. The stand-ins (package standin), and other processes that share the memory of the
// space's init, have none.
package marks
