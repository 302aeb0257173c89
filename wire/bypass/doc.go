// Package bypass seals the bytes of a connection whose two ends have got their keys from a third.
//
// Such a connection goes from the client of a process to the slave of its node, past the master, which has
// put it together ("Bypasses" in wire/PROTOCOL.md). The client runs with the user's rights, needs to start fast and
// has no certificate, so this is no TLS: both ends have fresh keys already, one for each direction. Records are
// sealed by AES-256-GCM with their number as the nonce, so none can be changed, left out, repeated or put elsewhere.
//
// One goroutine at a time may read, and one may write.
package bypass
