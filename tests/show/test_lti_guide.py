"""What docs/lti.md has one type and copy, from the key to the scores, against a platform that is as strict as the standards let it be."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import tomllib

import fake_lti
import pytest
from classroom import START, KernelFree, new_course, with_gradebook
from fake_lti import CLIENT, COLUMNS, QUERY, FakePlatform, member, needs_lti
from project import ROOT
from typer.testing import CliRunner

from grader.cli import app
from grader.grade import autograde as grading
from grader.handout.demo import hand_in, solved
from grader.people import lti
from grader.reference.lab import Lab

PAGE = (ROOT / "docs" / "lti.md").read_text("utf-8")
HERE = "02_self_attention"


def indented(heading: str) -> list[list[str]]:
    """The blocks of what is typed or copied below a heading."""
    text = PAGE.split(f"## {heading}")[1].split("\n## ")[0]
    return [[line[4:] for line in block.splitlines()] for block in re.findall(r"(?:^ {4}.+\n)+", text, re.MULTILINE)]  # fmt: skip


@needs_lti
@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_the_guide_s_key_file_and_commands_take_a_class_to_its_scores(tmp_path, monkeypatch):
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    monkeypatch.chdir(tmp_path)
    ((install, make, show),) = indented("Once: a key, and a tool on the platform")
    assert install == "scripts/setup_extra.sh lti"
    subprocess.run(["bash", "-c", make], check=True, capture_output=True)
    public = subprocess.run(shlex.split(show), check=True, capture_output=True, text=True).stdout
    assert public.startswith("-----BEGIN PUBLIC KEY-----")
    from jwcrypto.jwk import JWK

    own = JWK.from_pem((tmp_path / "grading/lti-key.pem").read_bytes())
    others = fake_lti.key
    monkeypatch.setattr(fake_lti, "key", lambda whose: own if whose == "tool" else others(whose))
    there = FakePlatform([member("u1", "Jane", "Doe", lis_person_sourcedid="jdoe")])
    hand_in(lab.course, lab, "jdoe", solved(lab))
    list(grading.autograde(lab, grading.submissions(lab), KernelFree(tmp_path / "runs"), 5))
    with there.serving() as there.url:
        (copied,) = indented("The course: `grading/lti.toml`")
        said = tomllib.loads("\n".join(copied)) | {"client_id": CLIENT, "issuer": there.url}
        said |= {"token_url": f"{there.url}/token", "members_url": f"{there.url}/services/members"}
        said |= {"lineitems_url": f"{there.url}{COLUMNS}?{QUERY}"}
        lines = [f"{name} = {json.dumps(value)}\n" for name, value in said.items()]
        (tmp_path / "grading/lti.toml").write_text("".join(lines))
        for typed in (*indented("The class list")[0], *indented("Grades")[0]):
            words = shlex.split(typed.removeprefix(".venv/bin/grader ").replace(HERE, START))
            done = CliRunner().invoke(app, words)
            assert done.exit_code == 0, (words, done.output)
    assert [*there.results.values()] == [{"u1": lab.points}]


def test_the_files_to_copy_have_every_setting_and_no_other():
    (course,), (hub,) = indented("The course: `grading/lti.toml`"), indented("Signing in on the hub")
    assert {*tomllib.loads("\n".join(course)), "audience"} == {*lti._KEYS}
    keys = re.search(
        r"^KEYS = \((.*?)\)", (ROOT / "deploy/jupyterhub/lti_sign_in.py").read_text(), re.M | re.S
    )[1]
    assert {*tomllib.loads("\n".join(hub)), "email_domain"} == {*re.findall(r'"(\w+)"', keys)}
    assert "audience" in PAGE and "email_domain" in PAGE
