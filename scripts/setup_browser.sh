#!/usr/bin/env bash
# Installs the two programs that pip cannot install: Chromium (browser tests) and bubblewrap (sandboxed
# grading). It never fails: whatever needs a missing program says so or is skipped.
set -uo pipefail

have() { command -v "$1" >/dev/null 2>&1; }

missing=()
have chromium || have chromium-browser || have google-chrome || missing+=(chromium)
have bwrap || missing+=(bubblewrap)
[ ${#missing[@]} -gt 0 ] || exit 0

failed=()
if [ "$(id -u)" = 0 ] && have apt-get; then
  echo "Installing with apt-get: ${missing[*]}"
  log=$(mktemp)
  apt-get update >"$log" 2>&1
  for package in "${missing[@]}"; do # one by one: a system's packages may include only one of them
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$package" >>"$log" 2>&1 || failed+=("$package")
  done
  [ ${#failed[@]} -gt 0 ] || { rm -f "$log"; exit 0; }
  echo "Could not install ${failed[*]} (see $log for apt-get's output); tests that need it will be skipped."
else
  echo "Missing: ${missing[*]}; browser tests (chromium) or sandboxed grading (bubblewrap) need it. Debian, Ubuntu: sudo apt-get install ${missing[*]}"
fi
