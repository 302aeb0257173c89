// Package door gives ordinary users access to root's commands for jobs. A service of root listens
// on a unix socket. The kernel identifies the user, and the command that the service starts decides
// what this user may do.
//
//	user                             service, root
//	  |  Request, standard descriptors -> | starts a command with these descriptors
//	  |  signal ------------------------> | sends it to the command
//	  |  end of the connection ---------> | sends it SIGTERM
//	  |  <------------------------ Answer | it has ended
//
// Each message is a packet of JSON (SOCK_SEQPACKET, unix(7)). The connections of a user are
// bounded.
package door
