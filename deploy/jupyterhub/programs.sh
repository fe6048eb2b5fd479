#!/usr/bin/env bash
# programs.sh PREFIX PYTHON: the hub itself and its proxy. environments.sh runs it; so does the test of the hub.
# shellcheck source-path=SCRIPTDIR source=common.sh
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
. "$here/common.sh"
prefix=$1 python=$2

[ "$(node -p 'parseInt(process.versions.node)')" -ge 18 ] ||
  stop "the hub's proxy needs node 18 or later, and $(command -v node) is $(node --version): install a newer one for all users, then run this again."
[ -x "$prefix/hub/bin/python" ] || "$python" -m venv "$prefix/hub"
packages=(-r "$here/requirements.txt" jupyterhub-ltiauthenticator==1.6.3)
if systemd; then packages+=(jupyterhub-systemdspawner==1.0.2); fi
"$prefix/hub/bin/python" -m pip install --quiet "${packages[@]}"
# 5.1.0 is the last version for node 18, which Debian 12 and Ubuntu 24.04 have.
npm install --silent --no-fund --no-audit --prefix "$prefix/node" configurable-http-proxy@5.1.0
