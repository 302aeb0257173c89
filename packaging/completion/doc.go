// Package completion generates shell completions from the help of commands (--help).
package completion
