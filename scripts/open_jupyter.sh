#!/usr/bin/env bash
# Opens JupyterLab of the course's environment; arguments are JupyterLab's.
# Quiet: a log that is little more than the address to open (encrypted kernel connections spare their warning
# too). The PATH is for terminals inside JupyterLab: `grader` and `python` there are the course's.
set -eu
bin="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.venv/bin" && pwd -P)"
if [ "$(id -u)" = 0 ]; then # a container, mostly; JupyterLab wants to be told that this is meant
  set -- --allow-root "$@"
fi
PATH="$bin:$PATH" exec "$bin/jupyter" lab --log-level=ERROR --LabApp.log_level=ERROR \
  --KernelManager.transport_encryption=auto "$@"
