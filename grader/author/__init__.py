"""What an author of labs calls: the build, and how misconceptions and correct variants are written down."""
