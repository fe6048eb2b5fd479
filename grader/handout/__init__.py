"""What is given out: the zip for learners, the zip for Gradescope."""
