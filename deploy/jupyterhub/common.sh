# What the scripts of this folder share. Sourced, not run.
# shellcheck shell=bash disable=SC2034
set -Eeuo pipefail

# The system's programs only: an interpreter in somebody's home would be closed to learners.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
prefix=/opt/transformer-hub
exchange=/srv/nbgrader/exchange
unit=/etc/systemd/system/transformer-hub.service

say() { printf '%s\n' "$*"; }

stop() { # one sentence: what went wrong, where, and what to do next
  printf 'Stopped: %s\n' "$*" >&2
  exit 1
}
trap 'stop "line $LINENO of $0 failed; the lines above say why. Fix that, then run the same command again."' ERR

need_root() { [ "$(id -u)" = 0 ] || stop "this changes the system, so it needs root: run it with sudo."; }

systemd() { [ -d /run/systemd/system ]; }
