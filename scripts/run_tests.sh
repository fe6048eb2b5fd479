#!/usr/bin/env bash
# Runs the tests; arguments are passed to pytest. First it runs those that can share the machine, the longest files first
# (tests/conftest.py), in one process more than there are cores, because many wait for a sandbox, a server or a browser, but in four at most.
# Then, one by one, it runs those that need the machine to themselves: they keep every core busy, or their seconds count.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=.venv/bin/python
workers=$("$python" -c 'import os; ours = getattr(os, "sched_getaffinity", None); print(min(4, 1 + (len(ours(0)) if ours else os.cpu_count() or 1)))')
# One thread in each: where there are more threads than cores, those that are done wait by computing, and everything takes several times as long.
env OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 TF_NUM_INTRAOP_THREADS=1 TF_NUM_INTEROP_THREADS=1 \
    "$python" -m pytest -m "not alone" -n "$workers" --dist loadfile --no-loadscope-reorder "$@"
shared=$?
"$python" -m pytest -m alone "$@"
alone=$?
# 5: no test was selected, which is an error only if neither part had any
if [ "$shared" = 5 ]; then exit "$alone"; fi
if [ "$alone" = 5 ]; then exit "$shared"; fi
exit $((shared > alone ? shared : alone))
