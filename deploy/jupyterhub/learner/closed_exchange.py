"""Submitting through nbgrader's exchange so that only the learner and the course's graders can read what was handed in.

nbgrader (0.9.6) makes a submission's folder 0777, "so the instructor can delete later", and relies on its random name.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from nbgrader.exchange.default import ExchangeSubmit


class Submit(ExchangeSubmit):
    """nbgrader's own step, except that a submission gets the group of the folder of submissions and is closed to others.

    That folder, ``inbound``, must have the set-group-ID bit and the graders' group: ``setup.sh`` sees to both.
    """

    def init_dest(self) -> None:
        """
        Raises:
            ExchangeError: the folder of submissions does not pass its group on.
        """
        super().init_dest()
        if not os.stat(self.inbound_path).st_mode & 0o2000:
            self.fail(
                f"Nobody could grade what you submit: {self.inbound_path} does not give it the graders' group. "
                "Tell your instructor: deploy/jupyterhub/setup.sh fixes it."
            )

    def copy_files(self) -> None:
        inbound = self.inbound_path
        with tempfile.TemporaryDirectory() as scratch:  # only its owner may enter
            self.inbound_path, self._submission = scratch, Path(inbound, self.assignment_filename)
            super().copy_files()

    def set_perms(self, dest: str, fileperms: int, dirperms: int) -> None:
        """Hands in ``dest``: nbgrader calls this when a submission is complete, and before it notes it as handed in."""
        unfinished = self._submission.with_name(f".{self._submission.name}")  # collecting passes it over
        before = os.umask(0o007)
        try:
            # No chmod, here or in a function that copies modes: done by somebody who is not in the group, it takes away
            # the bit that gives the group to what comes next.
            for folder, _, files in os.walk(dest):
                copy = unfinished / Path(folder).relative_to(dest)
                copy.mkdir()
                for name in files:
                    shutil.copyfile(Path(folder, name), copy / name)
            unfinished.rename(self._submission)
        finally:
            os.umask(before)
            shutil.rmtree(unfinished, ignore_errors=True)  # if the disk is full, say
