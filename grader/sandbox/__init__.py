"""What holds learners' code: a container, a preloaded process in it, and the kernels forked from that."""
