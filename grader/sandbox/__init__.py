"""The sandbox for learners' code: a container, a preloaded process in it, and the kernels forked from that process."""
