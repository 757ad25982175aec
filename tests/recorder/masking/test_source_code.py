"""False alarms of the definite rules in ordinary source code: installed packages, without their tests."""

import sysconfig
from pathlib import Path

from recorder.masking.masker import Masker
from recorder.masking.matcher import RuleSettings, compile_rules

PACKAGES = Path(sysconfig.get_paths()["purelib"])
KINDS = {".py", ".js", ".css", ".html", ".md"}
OTHER = {"test", "tests"}
MEGABYTES = 10


def source_files():
    for path in sorted(PACKAGES.rglob("*")):
        if path.suffix in KINDS and OTHER.isdisjoint(path.relative_to(PACKAGES).parts) and path.is_file():
            yield path.read_bytes()


def test_at_most_one_different_value_in_10_megabytes_of_source_code_is_masked():
    masker = Masker(compile_rules(RuleSettings()), b"k" * 32)
    size, found = 0, set()
    for text in source_files():
        size += len(text)
        found |= {(rule, text[start:end][:80]) for start, end, rule in masker.find(text)}
    assert size >= MEGABYTES * 1_000_000, "else this tests nothing"
    assert len(found) <= max(1, size // (MEGABYTES * 1_000_000)), found
