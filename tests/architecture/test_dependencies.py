"""Versions of dependencies, and no registry or machine named in a tracked file."""

import re
import tomllib
from importlib.metadata import version

from tests.architecture.tree import FILES, ROOT, name_of


def test_installed_versions_are_above_the_security_floors():
    assert tuple(map(int, version("daphne").split("."))) >= (4, 2, 2)
    assert tuple(map(int, version("django").split("."))) >= (5, 2, 11)


def test_every_dependency_is_pinned_to_one_version():
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    assert [pin for pin in pins if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9A-Za-z.]*", pin)] == []

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, groups = declared["project"], declared["dependency-groups"]
    requirements = [
        *declared["build-system"]["requires"],
        *project["dependencies"],
        *(one for named in (project["optional-dependencies"] | groups).values() for one in named),
    ]
    named = {re.match(r"[a-z0-9-]+", one).group() for one in requirements}
    assert named - {pin.split("==")[0] for pin in pins} == set()


def test_tracked_files_name_no_package_registry_and_no_machine_path():
    hosts = ["pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "crates" + ".io", "golang" + ".org"]
    places = ["/" + "root/", "/" + "work/", "/tmp/" + "team"]
    known = re.compile("|".join(map(re.escape, hosts + places)).encode())
    wrong = [
        f"{name_of(file)}: {found.group().decode()}"
        for file in FILES
        if file.suffix not in {".png", ".woff2"}
        for found in known.finditer(file.read_bytes())
    ]
    assert wrong == []
