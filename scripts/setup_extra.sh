#!/usr/bin/env bash
# Installs an extra of pyproject.toml into a folder of its own, .build/NAME, so that .venv stays as it is locked. Where the package
# index does not have it, the folder is left out; whatever needs it says so or is skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
name=$1
[ ! -d ".build/$name" ] || exit 0
packages=() # no mapfile: a Mac's Bash is 3
while IFS= read -r package; do packages+=("$package"); done < <(.venv/bin/python -c 'import sys, tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"][sys.argv[1]], sep="\n")' "$name")
if ! .venv/bin/python -m pip install --quiet --no-input --only-binary :all: --target ".build/$name" "${packages[@]}"; then
  rm -rf ".build/$name"
  echo "The extra $name could not be installed into .build/$name."
fi
