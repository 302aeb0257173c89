// Package bpjob is the command bpjob. What it does with job files is in internal/job/file.
package bpjob
