"""What nbgrader loads: its grading steps done our way, feedback through its exchange, penalties for late work."""
