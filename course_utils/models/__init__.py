"""Models that the labs share."""
