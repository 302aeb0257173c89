// Package bpjob implements the command bpjob. Job files are the business of internal/job/file.
package bpjob
