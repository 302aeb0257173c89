package filter

import "maps"

// with32 adds the numbers that i386 and arm programs have in common. The calls that change
// credentials have two each: the older ones take IDs of 16 bits.
func with32(calls map[uint32]Call) map[uint32]Call {
	maps.Copy(calls, map[uint32]Call{
		23:  Credentials, // setuid
		26:  Ptrace,
		37:  Kill,
		46:  Credentials, // setgid
		57:  Setpgid,
		64:  Getppid,
		66:  Setsid,
		70:  Credentials, // setreuid
		71:  Credentials, // setregid
		132: Getpgid,
		147: Getsid,
		164: Credentials, // setresuid
		170: Credentials, // setresgid
		172: Prctl,
		178: Sigqueue32,
		203: Credentials, // setreuid32
		204: Credentials, // setregid32
		208: Setresuid,   // setresuid32
		210: Setresgid,   // setresgid32
		213: Credentials, // setuid32
		214: Credentials, // setgid32
		238: Tkill,
		424: PidfdSignal32,
		434: PidfdOpen,
		438: PidfdGetfd,
	})
	return calls
}
