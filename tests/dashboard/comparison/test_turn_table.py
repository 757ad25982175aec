"""Pages of turns: first difference, hidden rows, previous and next page."""

from dashboard.comparison.turn_table import ROWS, Branch, Step, table


def branch(*tools, is_open=False):
    steps = [
        Step(n, ((tool, "key"),), "", tool, 0, False, 10, None, 1_000) for n, tool in enumerate(tools, 1)
    ]
    return Branch(steps, "/loop", is_open)


SAME = ["read"] * (ROWS + 100)


def test_a_page_holds_so_many_rows_and_the_link_to_the_divergence_finds_its_page():
    branches = branch(*SAME, "edit", "bash"), branch(*SAME, "web", "bash")

    first, second = table(branches), table(branches, first=ROWS + 50)

    assert (first.first, first.last, first.total) == (1, ROWS, ROWS + 102)
    assert (second.first, second.last) == (ROWS + 1, ROWS + 102)
    assert (first.parting, first.parting_row) == (str(ROWS + 101), ROWS + 1)
    assert [row.number for row in second.rows if row.is_first_difference] == [str(ROWS + 101)]
    assert not any(row.is_first_difference for row in first.rows)


def test_of_only_differences_the_equal_rows_are_counted():
    shown = table((branch(*SAME, "edit", "bash"), branch(*SAME, "web", "bash")), is_only_differences=True)

    assert [(row.number, row.skipped) for row in shown.rows] == [(str(ROWS + 101), ROWS + 100)]
    assert (shown.skipped, shown.same, shown.parting_row) == (1, ROWS + 101, 1)


def test_a_page_beyond_the_last_is_the_last():
    assert table((branch(*SAME),), first=10**6).first == ROWS + 1
    assert table((branch("read"),), first=10**6).last == 1


def test_nothing_to_compare_has_no_divergence():
    for branches in ((), (branch(),), (branch("read"),), (branch("read"), branch()), (branch(), branch())):
        assert table(branches).parting == ""


def test_a_turn_that_only_one_branch_has_is_the_first_difference():
    shown = table((branch("read", "edit"), branch("read", "bash", "edit")))

    assert [(row.number, [cell and cell.number for cell in row.cells]) for row in shown.rows] == [
        ("1", ["", ""]),
        ("", [None, "turn 2"]),
        ("2", ["", "turn 3"]),
    ]
    assert [row.is_first_difference for row in shown.rows] == [False, True, False]


def test_a_branch_that_still_runs_differs_only_in_what_it_has_done():
    ahead, behind = branch("read", "edit", "bash"), branch("read", is_open=True)
    assert table((ahead, behind)).parting == ""
    assert table((ahead, branch("read"))).parting == "2"
    assert table((ahead, branch("read", "web", is_open=True))).parting == "2"
