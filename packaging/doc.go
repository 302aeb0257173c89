// Package packaging tests what "make packages" makes.
//
//	build         the packages, of an install tree
//	install       the install tree, of what was built
//	version       of this tree
//	copyright     terms of what is compiled in
//	*.yaml        the packages, for nfpm
//	deb/, rpm/    what is run when they are installed and removed
//	etc/          configuration with comments
//	completion/   completions for shells
//
// An upgrade leaves processes running: the master is started anew, and then the keeper, if its
// program has changed; a node's daemon is started anew, which leaves its processes to the next
// (bpslave.service). A removal ends them. Purging also removes what survives a restart.
package packaging
