"""What comes in: whose it is, what can be read of it, and the notebook rebuilt from it."""
