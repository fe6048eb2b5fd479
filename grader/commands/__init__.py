"""The commands of ``grader``: a module for each occasion, loaded when one of its commands is called (:mod:`grader.cli`)."""
