"""The instructor's tool: build, release, collect, autograde, feedback, report, export."""

import sys

# jsonschema imports it if it is there, to check a format that no notebook uses; parsing its grammar takes longer
# than all our other imports together, in every process.
sys.modules.setdefault("rfc3987_syntax", None)
