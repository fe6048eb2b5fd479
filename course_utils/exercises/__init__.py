"""One module a lab: its exercises (what is checked) and its review quiz. Public: learners may read them."""
