"""Pages of turns: chunks, first difference, hidden rows, previous and next page."""

from dashboard.comparison.turn_table import CHUNK_CELLS, ROWS, AlignedTurn, Branch, table


def branch(*tools, is_open=False, cost=None):
    steps = [
        AlignedTurn(n, ((tool, "key"),), "", tool, 0, False, 10, cost, 1_000)
        for n, tool in enumerate(tools, 1)
    ]
    return Branch(steps, "/loop", is_open)


def shown_rows(shown):
    """Return the formatted rows."""
    return [row for chunk in shown.chunks for row in chunk.rows]


SAME = ["read"] * (ROWS + 100)


def test_a_page_holds_so_many_rows_and_the_link_to_the_divergence_finds_its_page():
    branches = branch(*SAME, "edit", "bash"), branch(*SAME, "web", "bash")

    first, second = table(branches), table(branches, first=ROWS + 50)

    assert (first.first, first.last, first.total) == (1, ROWS, ROWS + 102)
    assert (second.first, second.last) == (ROWS + 1, ROWS + 102)
    assert first.parting == str(ROWS + 101)
    assert ROWS + 101 - CHUNK_CELLS // 2 < first.parting_row <= ROWS + 101
    parting = table(branches, first=first.parting_row)
    assert [row.number for row in shown_rows(parting) if row.is_first_difference] == [str(ROWS + 101)]
    assert not any(row.is_first_difference for row in shown_rows(first))


def test_only_the_chunk_of_the_first_row_is_formatted():
    branches = [branch(*SAME)] * 6
    for first in (1, 21, 75, ROWS, ROWS + 100, 10**6):
        shown = table(branches, first=first)
        [chunk] = [chunk for chunk in shown.chunks if chunk.rows]

        assert sum(len(row.cells) for row in chunk.rows) <= CHUNK_CELLS
        assert chunk.first <= min(first, ROWS + 100) <= chunk.last
        assert [row.number for row in chunk.rows] == [str(n) for n in range(chunk.first, chunk.last + 1)]
        numbers = [n for each in shown.chunks for n in range(each.first, each.last + 1)]
        assert numbers == list(range(shown.first, shown.last + 1))


def test_the_version_of_a_chunk_changes_with_its_rows_only():
    plain, dearer = branch(*SAME), branch(*SAME)
    dearer.steps[100] = branch("read", cost=5).steps[0]
    before, after = (table([one] * 2).chunks for one in (plain, dearer))

    differing = [n for n, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
    assert len(before) > 2
    assert [before[n].first <= 101 <= before[n].last for n in differing] == [True]
    assert before[differing[0]].version != after[differing[0]].version
    assert [chunk.version for chunk in table([plain] * 2, first=90).chunks] == [
        chunk.version for chunk in before
    ]


def test_a_cell_names_few_tools_and_counts_the_calls_of_the_others():
    step = AlignedTurn(1, tuple((f"tool-{n}", "key") for n in range(9)), "", "", 0, False, 10, None, 1_000)

    [row] = shown_rows(table([Branch([step], "/loop")]))

    assert [name for name, _ in row.cells[0].tools] == [f"tool-{n}" for n in range(6)]
    assert row.cells[0].more_tools == 3


def test_of_only_differences_the_equal_rows_are_counted():
    shown = table((branch(*SAME, "edit", "bash"), branch(*SAME, "web", "bash")), is_only_differences=True)

    assert [(row.number, row.skipped) for row in shown_rows(shown)] == [(str(ROWS + 101), ROWS + 100)]
    assert (shown.skipped, shown.same, shown.parting_row) == (1, ROWS + 101, 1)


def test_a_page_beyond_the_last_is_the_last():
    assert table((branch(*SAME),), first=10**6).first == ROWS + 1
    assert table((branch("read"),), first=10**6).last == 1


def test_nothing_to_compare_has_no_divergence():
    for branches in ((), (branch(),), (branch("read"),), (branch("read"), branch()), (branch(), branch())):
        assert table(branches).parting == ""


def test_a_turn_that_only_one_branch_has_is_the_first_difference():
    shown = table((branch("read", "edit"), branch("read", "bash", "edit")))

    assert [(row.number, [cell and cell.number for cell in row.cells]) for row in shown_rows(shown)] == [
        ("1", ["", ""]),
        ("", [None, "turn 2"]),
        ("2", ["", "turn 3"]),
    ]
    assert [row.is_first_difference for row in shown_rows(shown)] == [False, True, False]


def test_a_branch_that_still_runs_differs_only_in_what_it_has_done():
    ahead, behind = branch("read", "edit", "bash"), branch("read", is_open=True)
    assert table((ahead, behind)).parting == ""
    assert table((ahead, branch("read"))).parting == "2"
    assert table((ahead, branch("read", "web", is_open=True))).parting == "2"
