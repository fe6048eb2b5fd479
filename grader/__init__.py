"""The instructor's tool. `grader --help` lists its commands."""

import sys

# jsonschema imports it, if it is installed, to check a format that no notebook uses. Parsing its grammar takes longer
# than all our other imports together, in every process.
sys.modules.setdefault("rfc3987_syntax", None)
