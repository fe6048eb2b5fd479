#!/usr/bin/env bash
# Opens JupyterLab in the course's environment, or, where it has none of its own, in the one that is active (conda's, say); arguments are
# passed to JupyterLab.
# The log is kept quiet: it shows little more than the address to open (encrypted kernel connections are used because
# others cause a warning). The PATH is for terminals inside JupyterLab: there, `grader` and `python` are the course's.
# What the labs add to JupyterLab comes from the course's own folder, so nobody's settings are touched.
set -eu
root="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)"
if [ -d "$root/.venv/bin" ]; then
  bin="$(cd -- "$root/.venv/bin" && pwd -P)"
elif jupyter="$(command -v jupyter)"; then
  bin="$(dirname -- "$jupyter")"
else
  echo "There is no environment: run \`make environment\`, or activate one that has JupyterLab." >&2
  exit 1
fi
if [ "$(id -u)" = 0 ]; then # usually a container; JupyterLab needs to know that this is intended
  set -- --allow-root "$@"
fi
PATH="$bin:$PATH" exec "$bin/jupyter" lab --log-level=ERROR --LabApp.log_level=ERROR \
  --KernelManager.transport_encryption=auto --LabApp.extra_labextensions_path="$root/course_utils/lab_style" "$@"
