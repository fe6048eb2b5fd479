"""The instructor's tool: build, release, collect, autograde, feedback, report, export."""
