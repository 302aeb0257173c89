// Package door gives ordinary users access to root's commands for jobs. A service of root listens
// on a unix socket. The kernel identifies the user, and the command that the service starts decides
// what this user may do.
//
//	user                                service, root     command, root
//	  |  Request, standard descriptors ---> | starts ------> | takes these descriptors, or refuses them
//	  |  signal --------------------------------------------> | gets it
//	  |  end of the connection -----------------------------> | gets SIGTERM
//	  |  <-------------------------- Answer | <--------- ends |
//
// Each message is a packet of JSON (SOCK_SEQPACKET, unix(7)). The connections of a user are
// bounded.
package door
