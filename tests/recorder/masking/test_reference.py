"""The reference lists the rules that there are."""

from tools.masking_reference import PAGE, page


def test_the_reference_of_masking_is_that_of_the_code():
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "stale: python -m tools.masking_reference"
