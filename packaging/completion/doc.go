// Package completion makes completions for shells from what commands say of their options
// (--help).
package completion
