"""The gradebook: its file and backups, what is entered, by whom and why, and what people give."""
