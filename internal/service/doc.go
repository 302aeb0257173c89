// Package service is what a daemon tells its service manager (sd_notify(3)). Without
// one there is nobody to tell, and that is no error.
package service
