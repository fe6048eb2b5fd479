"""A small French and a small English, written side by side: words, their forms, and sentences made of them."""
