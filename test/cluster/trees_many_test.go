//go:build soak

package cluster_test

const treeSeeds = 1000
