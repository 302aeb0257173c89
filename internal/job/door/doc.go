// Package door lets ordinary users have root's commands for jobs. A service of root's listens on a unix socket; who
// asks is known from the kernel, and what is done for whom the command decides that the service starts.
//
//	user                             service, root
//	  |  Request, standard descriptors -> | starts a command with these descriptors
//	  |  signal ------------------------> | sends it to the command
//	  |  end of the connection ---------> | sends it SIGTERM
//	  |  <------------------------ Answer | it has ended
//
// Each is a packet of JSON (SOCK_SEQPACKET, unix(7)). A user has a bounded number of connections.
package door
