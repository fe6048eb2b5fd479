"""Who is in the course: the roster, the class lists that it is made of, and the ids that name folders."""
