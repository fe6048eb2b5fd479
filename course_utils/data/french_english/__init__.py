"""A small French and English that are written side by side: words, their forms, and the sentences made of them."""
