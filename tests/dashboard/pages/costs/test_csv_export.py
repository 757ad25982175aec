"""The table as a CSV file."""

import csv
import io

from tests.dashboard.pages.costs.conftest import config, loop


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_it_has_the_figures_of_the_page(feed, see):
    feed(*loop(tokens=1_234_567), *loop("t.a.1", snapshot=config("qwen", "local", "open_ai_completions")))

    priced, unpriced = read(see(path="/p/default/costs.csv"))

    assert priced["config"] == "claude-haiku-4-5"
    assert (priced["loops"], priced["uncached_input_tokens"]) == ("1", "1234567")
    assert (priced["cost_usd"], priced["p95_ms"]) == ("1.234567000", "9000")
    assert (unpriced["cost_usd"], unpriced["unpriced_calls"]) == ("", "1")


def test_a_cell_that_starts_a_formula_is_text(feed, see):
    feed(*loop(snapshot=config("=HYPERLINK(1)")), *loop("t.a.1", agent_id="@SUM(1)"))

    assert "'=HYPERLINK(1)" in see(path="/p/default/costs.csv", query="?by=model")
    assert "'@SUM(1)" in see(path="/p/default/costs.csv", query="?by=agent")


def test_it_has_every_row_and_keeps_to_the_filters(feed, see):
    for n in range(60):
        feed(*loop(f"s{n}.a.1", snapshot=config(model=f"m{n}")), producer=f"p{n}")

    assert len(read(see(path="/p/default/costs.csv"))) == 60
    assert len(read(see(path="/p/default/costs.csv", query="?model=m7"))) == 1
