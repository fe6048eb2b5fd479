"""A lab as the judge knows it: its source, its known mistakes, later exercises with earlier mistakes in place, and answers that take no work."""
