"""The check engine: tries exercises, compares their outcomes with the expected ones, and reports. It knows no particular lab."""
