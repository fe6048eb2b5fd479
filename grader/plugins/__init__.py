"""What nbgrader loads: its steps in our way, feedback through its exchange, late work."""
