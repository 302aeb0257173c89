package bypass

// SetMost bounds the bytes of one direction, for a test.
func SetMost(bytes uint64) (restore func()) {
	was := most
	most = bytes
	return func() { most = was }
}
