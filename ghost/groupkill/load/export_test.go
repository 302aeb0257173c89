package load

import "bproc/ghost/groupkill"

// Old is Load as on kernels before 5.15.
func Old(namespace uint64) (*groupkill.Watch, error) { return load(namespace, killsProgOnSignalOld) }

// At is Load for a PID namespace with an inode number.
func At(namespace uint64) (*groupkill.Watch, error) { return load(namespace, program()) }
