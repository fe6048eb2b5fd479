"""What people read: feedback pages, the page about a class, exported scores."""
