"""Context chains of loops: continuations, reruns, branches, compaction loops."""

from dashboard.compaction_analysis.context_chain import ContextChain, Loop


def loop(pk, parent=None, role="normal", kind="Default", agent="a", is_selected=None):
    links = {"parent_id": parent, "group_id": None, "branch_index": None, "is_selected": is_selected}
    values = {"role": role, "continuation_kind": kind, "agent_id": agent, "loop_id": str(pk), "title": ""}
    spent = {"config_id": None, "turns": 1, "cost_nano": None, "unpriced": 0}
    return Loop(id=pk, session_id=1, **links, **values, **spent)


def line(loops, pk, most=200):
    return list(ContextChain(loops).line(pk, most))


def test_a_compaction_loop_shortens_its_predecessor_and_the_next_loop_continues_from_there():
    loops = [loop(1, kind="Initial"), loop(2, 1, "compaction", "Compaction"), loop(3, 1)]

    assert ContextChain(loops).base(2) == 1
    assert line(loops, 2) == line(loops, 1) == line(loops, 3) == [1, 3]


def test_a_prompt_without_a_parent_continues_the_last_loop_of_its_agent():
    loops = [loop(1), loop(2, agent="b"), loop(3, role="sub_agent"), loop(4), loop(5, role="judge")]

    assert line(loops, 4) == [1, 4]
    assert line(loops, 2) == [2]


def test_a_rerun_continues_the_predecessor_of_the_loop_that_it_repeats():
    loops = [loop(1), loop(2, 1), loop(3, 2, kind="Rerun"), loop(4, 3)]

    assert line(loops, 1) == [1, 3, 4]
    assert line(loops, 2) == [1, 2]


def test_the_winner_of_the_branches_continues_the_chain():
    loops = [loop(1), *(loop(pk, 1, "branch", "Branch", is_selected=pk == 3) for pk in (2, 3, 4)), loop(5, 3)]

    assert line(loops, 1) == [1, 3, 5]
    assert line(loops, 4) == [1, 4]


def test_cycles_end_and_long_chains_are_cut_on_both_sides():
    assert line([loop(1, 1), loop(2, 2, "compaction")], 2) == [1]
    assert line([loop(n, n - 1 or None) for n in range(1, 100)], 50, most=3) == [47, 48, 49, 50, 51, 52, 53]
