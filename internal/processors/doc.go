// Package processors says how many processors a daemon of ours uses at once.
package processors
