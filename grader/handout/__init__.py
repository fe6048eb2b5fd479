"""What instructors hand out: the zip for learners, and the zip for Gradescope."""
