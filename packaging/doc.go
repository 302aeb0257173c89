// Package packaging tests the results of "make packages".
//
//	build         makes the packages from an install tree
//	install       makes the install tree from a build
//	version       prints the version of this tree
//	copyright     writes the terms of all code in the programs
//	*.yaml        the packages, for nfpm
//	deb/, rpm/    scripts that run when packages are installed and removed
//	etc/          configuration with comments
//	completion/   completions for shells
//
// An upgrade leaves processes running. It restarts the master, and then the keeper if its program
// has changed. It also restarts a node's daemon, which leaves its processes to the next one
// (bpslave.service). A removal stops jobs and ends all other processes. Purging also removes the
// state that survives a restart. TestPackages of test/cluster does all of this.
package packaging
