// Package service reports the state of a daemon to its service manager (sd_notify(3)). Without a
// service manager it does nothing, which is not an error.
package service
