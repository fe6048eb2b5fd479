"""Incoming work: whose it is, what can be read of it, and the notebook that is rebuilt from it."""
