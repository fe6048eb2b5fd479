"""What is handed out: the zip for learners and the zip for Gradescope."""
