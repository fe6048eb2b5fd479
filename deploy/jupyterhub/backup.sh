#!/usr/bin/env bash
# backup.sh COURSE FOLDER: keeps the gradebook, the seeds and everything else in grading/ in one archive. Run it by cron.
# shellcheck source-path=SCRIPTDIR source=common.sh
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
. "$here/common.sh"

[ $# -eq 2 ] || stop "say which course and where to: backup.sh COURSE FOLDER."
course=$1 out=$2
[ -d "$course/grading" ] || stop "$course has no grading/: give the project's root, after the first release."
umask 077
mkdir -p "$out"
scratch=$(mktemp -d)
archive=$out/grading-$(date -u +%Y%m%dT%H%M%SZ).tar.gz
trap 'rm -rf "$scratch" "$archive.part"' EXIT
# What the gradebook was is copied before it, so that it is never older than that.
if [ -e "$course/grading/gradebook.json" ]; then cp "$course/grading/gradebook.json" "$scratch"; fi
# A copy of a database in use may be torn; SQLite's own backup is whole.
if [ -e "$course/grading/gradebook.db" ]; then
  "$course/.venv/bin/python" -P - "$course/grading/gradebook.db" "$scratch/gradebook.db" <<'PYTHON'
import sqlite3
import sys

try:
    # rw: what a killed program has half written is undone first
    with sqlite3.connect(f"file:{sys.argv[1]}?mode=rw", uri=True) as source, sqlite3.connect(sys.argv[2]) as copy:
        source.backup(copy)
        (verdict,) = copy.execute("PRAGMA integrity_check").fetchone()
except sqlite3.Error as error:
    verdict = error
if verdict != "ok":
    sys.exit(f"The gradebook cannot be backed up: {verdict}. Keep your last good backup.")
PYTHON
fi
# not the gradebook's own recent backups, of which there may be 500 MB
files=(-C "$course" --anchored --exclude=grading/gradebook.{db{,-journal,-wal,-shm},json} --exclude='grading/backups/[0-9]*' grading)
files+=(-C "$scratch" --transform 's|^gradebook|grading/gradebook|')
for name in gradebook.db gradebook.json; do
  if [ -e "$scratch/$name" ]; then files+=("$name"); fi
done
# 1: somebody is working, and a file changed or went away while it was read
tar -czf "$archive.part" --warning=no-file-changed --warning=no-file-removed "${files[@]}" || [ $? = 1 ]
mv "$archive.part" "$archive"
say "Written: $archive. To restore: tar -xzf it in the project's root."
