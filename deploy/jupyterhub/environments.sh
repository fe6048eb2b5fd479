#!/usr/bin/env bash
# environments.sh COURSE PREFIX: the programs and the three environments of the hub. setup.sh runs it.
# shellcheck source-path=SCRIPTDIR source=common.sh
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
. "$here/common.sh"
need_root
course=$1 prefix=$2
umask 022

missing=()
for pair in bwrap:bubblewrap npm:npm node:nodejs; do
  command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
for python in python3.13 python3.12 python3.11 ""; do
  if [ -n "$python" ] && command -v "$python" >/dev/null; then break; fi
done
[ -n "$python" ] || stop "the course needs Python 3.11, 3.12 or 3.13, and this system has none: install one for all users (in /usr or /usr/local), then run this again."
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing+=("$python-venv")
if [ ${#missing[@]} -gt 0 ]; then
  say "Installing with apt-get: ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
export PYTHON=$python
install -d -m 711 "$prefix"

# git does not keep modes beyond the x bit: the project is closed to learners first, before minutes of installing.
chmod 0700 "$course"

say "[1/4] the project's environment, for instructors"
"$course/scripts/setup_environment.sh"
"$course/.venv/bin/python" -m pip install --quiet -c "$course/requirements.txt" -r "$here/requirements.txt"

say "[2/4] what learners get: the files of all labs' bundles, without notebooks (they fetch those) and solutions"
learner=$prefix/learner
install -d "$learner"
"$course/.venv/bin/python" -P "$here/learner_files.py" "$course" "$learner"

say "[3/4] the learners' environment"
"$learner/scripts/setup_environment.sh"
"$learner/.venv/bin/python" -m pip install --quiet -c "$learner/requirements.txt" -r "$here/requirements.txt"

say "[4/4] the hub"
"$here/programs.sh" "$prefix" "$python"

# An account that can read an environment can use it; a Python in a closed folder would be found out here, not by a learner.
for environment in "$learner" "$prefix/hub"; do
  python=$environment/bin/python
  if [ "$environment" = "$learner" ]; then python=$learner/.venv/bin/python; fi
  runuser -u nobody -- "$python" -c 'import jupyterhub' 2>/dev/null ||
    stop "ordinary accounts cannot use $python: its interpreter, $(readlink -f "$python"), is closed to them. Install Python for all users, delete $environment, and run this again."
done
