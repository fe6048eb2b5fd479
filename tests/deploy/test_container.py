"""Both images of the Dockerfile, built on a bare Debian and run: `scripts/run_tests.sh --all --images -k container`."""

from __future__ import annotations

import csv
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
import requests
from project import ROOT

from grader.handout.demo import solved

START = "00_start_here"
BASE = "localhost/transformer-labs-test-base"
PORT = 18888
TOOLS = ("buildah", "podman", "runc", "debootstrap", "catatonit")
PRIVILEGES = ("--security-opt", "seccomp=unconfined", "--security-opt", "unmask=ALL")
# Where nothing watches over services, and limits cannot be raised, Podman has to be told so.
MACHINE = ("--network=host", "--ulimit=nofile=10000:10000", "--ulimit=nproc=10000:10000")


def _missing() -> str:
    if os.geteuid() != 0:
        return "needs root: it makes a root file system"
    absent = [tool for tool in TOOLS if not shutil.which(tool)]
    return f"needs {', '.join(absent)}" if absent else ""


pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.skipif(bool(_missing()), reason=_missing())]


def done(*command: str, **settings) -> str:
    """What a command prints; if it fails, the end of that is in the error."""
    ran = subprocess.run(command, capture_output=True, text=True, **settings)
    assert ran.returncode == 0, f"{' '.join(command[:4])}: {ran.stdout[-3000:]}\n{ran.stderr[-3000:]}"
    return ran.stdout


def of_this_machine(folder: Path) -> list[str]:
    """Options that give a build this machine's settings of pip, and what they name: certificates, folders of packages."""
    listed = done(sys.executable, "-m", "pip", "config", "list")
    settings = dict(re.findall(r"^(?:global|install|:env:)\.(\S+?)='(.*)'$", listed, re.M))
    lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
    (folder / "pip.conf").write_text(f"[global]\n{lines}")
    paths = {Path(path) for path in re.findall(r"(?<![\w/])/[\w./-]+", lines.replace("file://", ""))}
    # An index in a folder names the packages that lie beside it.
    named = {path.parent if path.name == "simple" else path for path in paths if path.exists()}
    return [
        f"--volume={folder}/pip.conf:/etc/pip.conf:ro",
        *(f"--volume={path}:{path}:ro" for path in sorted(named)),
    ]


@pytest.fixture(scope="module")
def base(request, tmp_path_factory) -> str:
    """An image of a bare Debian with Python."""
    if not request.config.getoption("--images"):
        pytest.skip("it takes a quarter of an hour; --images builds and runs them")
    root = tmp_path_factory.mktemp("debian")
    packages = "--include=python3,python3-venv,ca-certificates"
    done("debootstrap", "--variant=minbase", packages, "bookworm", str(root))
    container = done("buildah", "from", "scratch").strip()
    done("buildah", "copy", "-q", container, str(root), "/")
    done("buildah", "commit", "-q", "--rm", container, BASE)
    shutil.rmtree(root)
    return BASE


@dataclass
class Image:
    name: str
    seconds: float

    @property
    def gigabytes(self) -> float:
        return int(done("podman", "image", "inspect", "-f", "{{.Size}}", self.name)) / 1e9


@pytest.fixture(scope="module", params=["learner", "instructor"])
def image(request, base, tmp_path_factory) -> Iterator[Image]:
    checkout = tmp_path_factory.mktemp("checkout") / "course"
    done("git", "clone", "-q", "--depth=1", f"file://{ROOT}", str(checkout))
    name = f"localhost/transformer-labs-test-{request.param}"
    began = time.monotonic()
    arguments = [
        f"--build-arg=BASE={base}",
        f"--build-arg=ROLE={request.param}",
        *of_this_machine(checkout.parent),
    ]
    done("buildah", "bud", "--isolation=chroot", "--format=docker", *arguments, "-t", name, str(checkout))
    yield Image(name, time.monotonic() - began)
    done("podman", "rmi", "-f", name)


class Container:
    """A running container; JupyterLab answers at ``address``."""

    def __init__(self, image: Image, volume: str, *options: str):
        run = (
            "podman",
            "run",
            "-d",
            "--init",
            "--health-interval=disable",
            f"--env=JUPYTER_PORT={PORT}",
            *MACHINE,
        )
        self.id = done(*run, *options, "-v", volume, image.name).strip()

    def __enter__(self) -> Container:
        try:
            self.address = self._address()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        done("podman", "rm", "-f", "-t", "5", self.id)

    def _address(self) -> str:
        for _ in range(240):
            ran = subprocess.run(["podman", "logs", self.id], capture_output=True, text=True)
            if found := re.search(rf"http://127\.0\.0\.1:{PORT}/\S+token=\w+", ran.stdout + ran.stderr):
                return found[0]
            time.sleep(0.5)
        raise AssertionError(f"JupyterLab does not start: {(ran.stdout + ran.stderr)[-2000:]}")

    def run(self, *command: str) -> str:
        return done("podman", "exec", self.id, *command)

    def page(self, path: str) -> requests.Response:
        """What JupyterLab's server answers to whoever has the address."""
        token = self.address.partition("token=")[2]
        answer = requests.get(f"http://127.0.0.1:{PORT}/{path}", params={"token": token}, timeout=30)
        assert answer.status_code == 200, answer.text
        return answer

    def file(self, path: str) -> str:
        """The text of a file that JupyterLab opens."""
        return self.page(f"api/contents/{path}").json()["content"]


@pytest.fixture
def volume() -> Iterator[str]:
    name = f"transformer-labs-test-{secrets.token_hex(4)}"
    done("podman", "volume", "create", name)
    yield name
    done("podman", "volume", "rm", "-f", name)


def test_the_image_opens_at_the_map_or_grades_and_keeps_what_is_in_its_volume(image, volume, labs, tmp_path):
    print(f"{image.name}: built in {image.seconds:.0f} s, {image.gigabytes:.1f} GB")  # shown with -s
    work = tmp_path / "alice.ipynb"
    nbformat.write(solved(labs[START]), work)
    if image.name.endswith("learner"):
        works_for_a_learner(image, f"{volume}:/course/notebooks", work)
    else:
        works_for_an_instructor(image, f"{volume}:/course/grading", work)


def works_for_a_learner(image: Image, volume: str, work: Path) -> None:
    with Container(image, volume) as container:
        assert container.run("id", "-u").strip() == "1000"
        assert not {"solutions", "grader", "tests"} & set(container.run("ls", "/course").split())
        assert "00 Start here" in container.file("START.md")
        done("podman", "healthcheck", "run", container.id)
        done("podman", "cp", str(work), f"{container.id}:/course/notebooks/{START}/start_here.ipynb")
        execute = "cd notebooks/00_start_here && jupyter nbconvert --to notebook --execute --stdout start_here.ipynb"
        told = (
            "TRANSFORMER_LABS_PROGRESS=/course/notebooks/.progress.json"  # what JupyterLab's kernels are told
        )
        assert re.search(r": all \d+ checks passed\.", container.run("env", told, "bash", "-c", execute))
    with Container(image, volume) as container:
        done("podman", "exec", container.id, "test", "-s", "/course/notebooks/.progress.json")
        assert re.search(r"00 Start here.*\b1 of 1\b", container.file("START.md"))


def works_for_an_instructor(image: Image, volume: str, work: Path) -> None:
    with Container(image, volume) as container:
        container.run("grader", "release", START)
        container.run("mkdir", "/course/grading/inbox")
        done("podman", "cp", str(work), f"{container.id}:/course/grading/inbox/alice.ipynb")
        container.run("grader", "collect", START, "/course/grading/inbox")
        assert START in container.page("formgrader/api/assignments").text
        assert "grade by hand" in container.page("by-hand").text
        ran = subprocess.run(
            ["podman", "exec", container.id, "grader", "autograde", START], capture_output=True, text=True
        )
        assert ran.returncode and "Bubblewrap says" in ran.stderr and "containers.md" in ran.stderr
    with Container(image, volume, *PRIVILEGES) as container:
        container.run("grader", "autograde", START)
        table = container.run("grader", "export", "--format", "csv", "--out", "/dev/stdout")
        (row,) = (row for row in csv.DictReader(table.splitlines()) if row["student_id"] == "alice")
        assert row["assignment"] == START and float(row["score"]) == float(row["max_score"]) > 0
