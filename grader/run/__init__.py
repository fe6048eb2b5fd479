"""A rebuilt notebook is run, and what its checks publish is collected."""
