"""Tables as CSV files."""

import csv
from decimal import Decimal
from io import StringIO

import pytest

from dashboard.web import csv_response


def read(*rows):
    return list(csv.reader(StringIO(csv_response.text(["a", "b"], rows), newline="")))


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t=", "\r=", "\n=", " =", "\uff1d"])
def test_text_that_starts_a_formula_is_quoted(first):
    assert read([f"{first}1+1", "x"])[1] == [f"'{first}1+1", "x"]


def test_numbers_stay_numbers():
    assert read([-1, Decimal("-0.0000001")]) == [["a", "b"], ["-1", "-0.0000001"]]


def test_none_is_an_empty_cell_and_text_is_unchanged():
    assert read([None, 'He said "a, b"\nand left.'])[1] == ["", 'He said "a, b"\nand left.']


def test_the_response_is_a_download():
    answer = csv_response.answer("costs", ["a"], [["x"]])

    assert answer["Content-Disposition"] == 'attachment; filename="costs.csv"'
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.content == b"a\r\nx\r\n"
