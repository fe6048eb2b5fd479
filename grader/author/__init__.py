"""Tools for authors of labs: starting a new lab, building it, and checking that it has everything that a lab needs."""
