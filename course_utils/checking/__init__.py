"""The check engine: tries exercises, compares their outcomes with the expected ones, and reports. It contains nothing that
belongs to a particular lab.
"""
