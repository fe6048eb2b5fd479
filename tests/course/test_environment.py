"""The environment check says what is wrong, what is needed, and the command that mends it."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

import numpy as np
import pytest

from course_utils import check_environment, environment
from course_utils.environment import Finding, as_html, as_text, free_memory, machine, packages, python

FINE = Finding("numpy", "2.4.6")
OLD = Finding("torch", "1.0", False, "torch ~=2.13", '`%pip install "torch~=2.13"`')


def test_the_environment_of_the_course_is_complete():
    assert all(finding.fine for finding in packages())


def test_a_missing_package_comes_first_with_the_command_that_installs_it():
    first, *_ = packages(["numpy", "no-such-package-of-ours~=1.2"])
    assert (first.what, first.found, first.fine) == ("no-such-package-of-ours", "missing", False)
    assert first.fix == '`%pip install "no-such-package-of-ours~=1.2"`'


@pytest.mark.parametrize("wanted", [">=999", "<0.1"])
def test_a_package_that_is_too_old_or_too_new_is_found(wanted):
    (finding,) = packages([f"numpy{wanted}"])
    assert not finding.fine and finding.found == np.__version__ and finding.needs == f"numpy {wanted}"


def test_a_local_version_such_as_a_cpu_build_fits(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda name: "2.13.0+cpu")
    assert packages(["torch~=2.13"])[0].fine


def test_packages_for_tests_only_are_not_asked_of_learners():
    assert packages(['no-such-package-of-ours; extra == "test"']) == []


def test_packages_that_learners_do_not_know_share_a_line_when_fine():
    found = packages(["numpy", "traitlets", "nbformat"])
    assert [finding.what for finding in found] == ["numpy", "2 smaller packages"]


def test_a_course_that_is_not_installed_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(environment, "COURSE", "no-such-package-of-ours")
    (finding,) = packages()
    assert not finding.fine and "%pip install --editable" in finding.fix
    assert python().fine


def test_another_python_is_found(monkeypatch):
    monkeypatch.setattr(environment.platform, "python_version", lambda: "3.9.1")
    assert not python().fine and "make environment" in python().fix


def test_too_little_memory_and_disk_are_found(monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "free_memory", lambda: 2**28)
    monkeypatch.setattr(environment.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 2**20}))
    findings = {finding.what: finding for finding in machine(tmp_path)}
    assert not findings["free memory"].fine and not findings["free disk space"].fine
    assert findings["free memory"].found == "0.2 GB"


def test_unknown_memory_is_no_fault(monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "free_memory", lambda: None)
    assert {finding.what: finding for finding in machine(tmp_path)}["free memory"].fine


def test_the_limit_of_a_container_counts(tmp_path):
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("400\n")
    assert free_memory(tmp_path) == 600


@pytest.mark.parametrize("limit", ["max", None])
def test_without_a_limit_the_memory_of_the_machine_counts(tmp_path, limit):
    if limit:
        (tmp_path / "memory.max").write_text(limit)
        (tmp_path / "memory.current").write_text("400")
    assert free_memory(tmp_path) > 600


def test_if_all_is_fine_nothing_is_asked_for():
    assert "Everything is in place." in as_text([FINE]) and "pip" not in as_text([FINE])
    assert "Everything is in place." in as_html([FINE]) and "pip" not in as_html([FINE])


@pytest.mark.parametrize("page", [as_text, as_html])
def test_a_fault_is_shown_with_what_is_needed_its_fix_and_the_restart(page):
    shown = page([FINE, OLD]).replace("&quot;", '"')
    assert "1 thing needs your attention:" in shown
    for words in ("torch ~=2.13", '%pip install "torch~=2.13"', "Restart Kernel"):
        assert words in shown


def test_marks_are_told_apart_without_colour():
    assert as_text([FINE, OLD]).splitlines()[:2] == ["ok   numpy  2.4.6", "not  torch  1.0"]
    assert 'aria-label="fine">✓' in as_html([FINE]) and 'aria-label="needs attention">✗' in as_html([OLD])


def test_the_check_shows_one_table(capsys):
    check_environment()
    shown = capsys.readouterr().out
    assert "Python" in shown and "processor cores" in shown


def test_the_check_loads_neither_framework():
    code = (
        "import sys, course_utils; course_utils.check_environment();"
        "assert not {'torch', 'tensorflow', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def test_in_a_browser_nobody_is_asked_for_cores_memory_or_disk(monkeypatch, capsys):
    monkeypatch.setattr(sys, "platform", "emscripten")
    check_environment()
    said = capsys.readouterr().out
    assert "Python" in said and "numpy" in said
    assert not any(part in said for part in ("processor cores", "free memory", "free disk space"))
