#!/usr/bin/env bash
# What a container of the course runs: JupyterLab, at JUPYTER_PORT, for every address (which of them reach it, the container's ports say).
# A volume over notebooks/ may be empty, or older than the image: labs that it does not have are put there; those that it has
# are the learner's, and stay as they are.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
root=$(pwd -P)

stop() {
  printf 'Not started: %s\n' "$*" >&2
  exit 1
}

# writable FOLDER: the user who runs the container must be able to work there
writable() {
  [ -w "$1" ] || stop "user $(id -u) may not write in $root/$1, which is a volume; use a named volume, or give that user the folder (on the host: chown -R $(id -u) FOLDER), then start the container again."
}

if [ -d solutions ]; then
  writable grading
  start=(--ServerApp.root_dir="$root" --ServerApp.jpserver_extensions=grader.by_hand.page=True)
else
  writable notebooks
  export TRANSFORMER_LABS_PROGRESS="$root/notebooks/.progress.json" # with the work: the home goes with the container
  for lab in .labs/*/; do
    name=$(basename "$lab")
    [ -e "notebooks/$name" ] || { rm -rf "notebooks/.new" && cp -R "$lab" notebooks/.new && mv notebooks/.new "notebooks/$name"; } ||
      stop "lab $name cannot be written to $root/notebooks; see that the volume has 20 MB free, then start the container again."
  done
  .venv/bin/python -m course_utils notebooks
  start=(--ServerApp.root_dir="$root/notebooks" --LabApp.default_url=/lab/tree/START.md)
fi
exec scripts/open_jupyter.sh --ip=0.0.0.0 --no-browser "${start[@]}" "$@"
