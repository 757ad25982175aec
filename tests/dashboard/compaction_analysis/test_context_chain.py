"""Which loops a context runs through, told from how phi-core links them."""

from dashboard.compaction_analysis.context_chain import ContextChain, Loop


def loop(pk, parent=None, role="normal", kind="Default", agent="a", is_selected=None):
    links = {"parent_id": parent, "group_id": None, "branch_index": None, "is_selected": is_selected}
    values = {"role": role, "continuation_kind": kind, "agent_id": agent, "loop_id": str(pk), "title": ""}
    spent = {"config_id": None, "turns": 1, "cost_nano": None, "unpriced": 0}
    return Loop(id=pk, session_id=1, **links, **values, **spent)


def line(loops, pk, most=200):
    return list(ContextChain(loops).line(pk, most))


def test_a_pass_on_its_own_shortens_the_loop_above_it_and_the_next_goes_on_from_there():
    loops = [loop(1, kind="Initial"), loop(2, 1, "compaction", "Compaction"), loop(3, 1)]

    assert ContextChain(loops).base(2) == 1
    assert line(loops, 2) == line(loops, 1) == line(loops, 3) == [1, 3]


def test_every_prompt_of_an_agent_goes_on_from_its_last_though_it_names_no_parent():
    loops = [loop(1), loop(2, agent="b"), loop(3, role="sub_agent"), loop(4), loop(5, role="judge")]

    assert line(loops, 4) == [1, 4]
    assert line(loops, 2) == [2]


def test_a_rerun_goes_on_from_where_the_loop_began_that_it_runs_again():
    loops = [loop(1), loop(2, 1), loop(3, 2, kind="Rerun"), loop(4, 3)]

    assert line(loops, 1) == [1, 3, 4]
    assert line(loops, 2) == [1, 2]


def test_of_branches_the_winner_is_the_context():
    loops = [loop(1), *(loop(pk, 1, "branch", "Branch", is_selected=pk == 3) for pk in (2, 3, 4)), loop(5, 3)]

    assert line(loops, 1) == [1, 3, 5]
    assert line(loops, 4) == [1, 4]


def test_loops_that_are_each_others_parents_end_and_long_lines_are_cut_on_both_sides():
    assert line([loop(1, 1), loop(2, 2, "compaction")], 2) == [1]
    assert line([loop(n, n - 1 or None) for n in range(1, 100)], 50, most=3) == [47, 48, 49, 50, 51, 52, 53]
