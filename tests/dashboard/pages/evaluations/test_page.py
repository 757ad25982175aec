"""The evaluation page: verdict, settings, figures, answers, judge."""

from random import Random

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from recorder.models import LoopRecord, ParallelGroupRecord
from tests.dashboard.pages.evaluations.branches import SAME, branch, config, end, judge, loop_id, start
from tests.dashboard.pages.evaluations.conftest import rows, text
from tests.support import build
from tests.support.count_calls import count_calls


def test_the_verdict_comes_first_and_in_words(feed, evaluation):
    feed(start(1, 2), *branch(1, *SAME, "One."), *branch(2, "Two."), *judge("2"), end(2))

    page = evaluation()

    assert "model-2 won. The judge named branch 2." in page.text
    assert page.html.index('class="verdict') < page.html.index('class="comparison"')
    assert "2 branches, judged by claude-sonnet-4-6" in page.text


def test_a_selection_by_rule_is_named(feed, evaluation):
    feed(tape="12")

    page = evaluation()

    assert "claude-opus-4-6 was selected by a rule. There was no judge." in page.text
    assert 'data-verdict="rule"' in page.html
    assert "No judge:" in page.text


def test_a_reply_that_names_no_branch_is_no_win(feed, evaluation):
    feed(start(1, 2), *branch(1, "One."), *branch(2, "Two."), *judge("Both are good."), end(1, tokens=5))

    page = evaluation()

    assert "No win. The judge's reply names no branch, so model-1 was selected by a rule." in page.text
    assert "Both are good." in page.text
    assert "Selected" in page.text
    assert "Winner" not in page.text


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([start(1, 2)], "No winner yet. Of 2 branches: 2 pending."),
        ([start(1, 2), build.agent_start(loop_id(1))], "Of 2 branches: 1 running, 1 pending."),
        ([start(1, 2), *branch(1, "One.")], "Of 2 branches: 1 pending, 1 ended."),
        (
            [start(1, 2), *branch(1, "One."), *branch(2, "Two.")],
            "All branches ended. No branch is selected yet.",
        ),
        (
            [start(1, 2), *branch(1, "One."), *branch(2, "Two."), build.agent_start("judge", "s")],
            "The judge is reading. 2 branches wait for its verdict.",
        ),
    ],
)
def test_a_running_evaluation_shows_its_state(feed, evaluation, events, expected):
    feed(*events)

    page = evaluation()

    assert expected in page.text
    assert "Winner" not in page.text


def test_an_aborted_group_shows_branches_that_never_started(feed, evaluation):
    feed(start(1, 2), build.agent_start(loop_id(1)), flush=True)

    page = evaluation()

    assert "Ended without a selection." in page.text
    assert "Never started" in page.text
    assert "Aborted" in page.text
    assert 'class="lane"' not in page.html


def test_failed_and_rejected_branches_are_shown_as_what_they_are_and_are_never_the_best(feed, evaluation):
    failed = [
        build.agent_start(loop_id(2), config_snapshot=config(2)),
        build.turn_start(loop_id(2)),
        build.turn_end(loop_id(2), message=build.assistant("", stop="error", error="overloaded")),
        build.agent_end(loop_id(2)),
    ]
    rejected = [build.agent_start(loop_id(3)), build.agent_end(loop_id(3), rejection="blocked term")]
    feed(start(1, 2, 3), *branch(1, *SAME, "One.", tokens=50), *failed, *rejected, *judge("1"), end(1))

    page = evaluation()

    assert "Failed" in page.text
    assert "Rejected" in page.text
    assert page.html.count("Best in row") == 0


def test_only_settings_that_differ_are_shown_and_the_others_are_folded(feed, evaluation):
    feed(
        start(1, 2),
        *branch(1, "One.", max_tokens=8192, thinking_level="high"),
        *branch(2, "Two.", max_tokens=8192, thinking_level="off"),
        *judge("1"),
        end(1),
    )

    page = evaluation()

    assert "3 identical settings" in page.text
    assert [e for e in page.root.walk() if e.attributes.get("class") == "different-value"]
    assert "Thinking high off" in page.text


def test_the_best_of_each_row_is_marked(feed, evaluation):
    feed(start(1, 2), *branch(1, *SAME, "One."), *branch(2, "Two.", tokens=100), *judge("1"), end(1))

    page = evaluation()
    best = {
        text(row.elements[0]): [
            n for n, cell in enumerate(row.elements) if "is-best" in cell.attributes.get("class", "")
        ]
        for row in page.root.walk()
        if row.tag == "tr"
    }

    assert best["Latency"] == [2]
    assert best["Tokens"] == [1]
    assert best["Turns"] == best["Tool calls"] == [2]
    assert best["Failed tools"] == []


def test_answers_are_compared_word_by_word_rendered_or_raw(feed, evaluation):
    feed(
        start(1, 2),
        *branch(1, "Use **an index** for this."),
        *branch(2, "Use **a table** for <b>this</b>."),
        *judge("1"),
        end(1),
    )

    compared, rendered, raw = evaluation("?answer=diff"), evaluation(), evaluation("?answer=raw")

    assert "<del>an index</del><ins>a table</ins>" in compared.html
    assert "<strong>a table</strong>" in rendered.html
    assert "Use **a table** for &lt;b&gt;this&lt;/b&gt;." in raw.html
    assert "<b>this" not in compared.html + rendered.html + raw.html


def test_the_winner_and_the_selected_branches_are_shown(feed, evaluation):
    numbers = range(1, 13)
    feed(
        start(*numbers),
        *(e for n in numbers for e in branch(n, "read a", f"The answer is {n}.")),
        *judge("7"),
        end(7),
    )

    unasked, picked = evaluation(), evaluation("?branches=2&branches=12,7&answer=diff")

    assert "3 of 12 branches" in unasked.text
    assert [head(unasked, n) for n in (1, 2, 3)] == ["branch 7", "branch 1", "branch 2"]
    assert [head(picked, n) for n in (1, 2, 3)] == ["branch 7", "branch 2", "branch 12"]
    assert "<ins>12</ins>" in picked.html
    for nonsense in ("?branches=0,99,x", "?branches=", "?row=99999", "?row=-1", "?answer=x&only=y"):
        assert "Turn by turn" in evaluation(nonsense).text


def head(page, column):
    heads = [e for e in page.root.walk() if e.tag == "th" and e.attributes.get("scope") == "col"]
    return next(word for word in (f"branch {n}" for n in range(12, 0, -1)) if word in text(heads[column - 1]))


def test_the_judge_is_shown_with_its_reply_and_its_loop(feed, evaluation):
    feed(
        start(1, 2), *branch(1, "One."), *branch(2, "Two."), *judge("1\n\nIt is **short**."), end(1, tokens=5)
    )

    page = evaluation()
    judges = LoopRecord.objects.get(role="judge")

    assert "<strong>short</strong>" in page.html
    assert f"/p/default/sessions/{judges.session_id}/loops/{judges.pk}" in page.links


def test_the_streaming_reply_of_a_judge_is_shown(feed, evaluation):
    feed(
        start(1, 2),
        *branch(1, "One."),
        *branch(2, "Two."),
        build.agent_start("judge", "s"),
        build.turn_start("judge"),
        build.message_start("judge"),
        build.message_update("judge", "Branch 1 is"),
    )

    assert "Branch 1 is" in evaluation().text


def test_lanes_show_the_progress_of_each_branch(feed, evaluation):
    begun = [e for e in branch(1, "bash ls", "read a", context_window=200_000) if e["type"] != "AgentEnd"]
    feed(start(1, 2), *begun)

    page = evaluation()
    lanes = [e for e in page.root.walk() if e.attributes.get("class") == "lane"]

    assert "Turns 2" in text(lanes[0])
    assert "Last tool read a" in text(lanes[0])
    assert "of 200k" in text(lanes[0])
    assert "announced, not started" in text(lanes[1])


def test_an_evaluation_links_to_its_neighbours(feed, evaluation):
    feed(tape="04")
    first, second = ParallelGroupRecord.objects.order_by("pk").values_list("pk", flat=True)

    assert f"/p/default/evaluations/{first}" in evaluation().links
    assert f"/p/default/evaluations/{second}" not in evaluation().links


def test_an_evaluation_of_another_project_is_404(feed, reader):
    feed(tape="03")
    pk = ParallelGroupRecord.objects.get().pk

    assert reader.get(f"/p/other/evaluations/{pk}").status_code == 404
    assert reader.get(f"/p/default/evaluations/{pk + 1}").status_code == 404
    reader.logout()
    assert reader.get(f"/p/default/evaluations/{pk}").status_code == 302


@pytest.mark.parametrize("branches", [2, 6])
def test_the_number_of_queries_depends_on_nothing(feed, reader, branches):
    numbers = range(1, branches + 1)
    long = [f"read {n}" for n in range(50 * (branches > 2) or 1)]
    feed(start(*numbers), *(e for n in numbers for e in branch(n, *long, "Done.")), *judge("1"), end(1))
    path = f"/p/default/evaluations/{ParallelGroupRecord.objects.get().pk}"
    reader.get(path)

    with CaptureQueriesContext(connection) as queries:
        reader.get(path)
    assert len(queries) == 23, "\n".join(query["sql"] for query in queries)


def test_a_page_of_six_long_branches_has_at_most_120_kb(feed, evaluation):
    numbers, long = range(1, 7), "What the test says of it. " * 20
    turns = [f"read {'folder/' * 30}{n}" for n in range(60)]
    feed(
        start(*numbers),
        *(e for n in numbers for e in branch(n, *turns, f"bash {n}", f"{n} {long * 10 * n}")),
        *judge(f"1 {long * 10}"),
        end(1),
    )

    for query in ("", "?answer=diff", "?answer=raw", "?only=diff", "?row=61"):
        assert len(evaluation(query).html.encode()) <= 120_000, query


def test_rows_further_down_are_links_and_loaded_by_their_url(feed, evaluation, reader):
    same = [f"read file-{n}" for n in range(100)]
    feed(start(1, 2), *branch(1, *same, "One."), *branch(2, *same, "Two."), *judge("1"), end(1))
    page = evaluation()
    links = [row for row in rows(page) if row[0].startswith("Rows ")]
    assert links == [["Rows 61 to 101"]]
    assert len(rows(page)) == 60 + len(links)
    later = next(e for e in page.root.walk() if "data-rows" in e.attributes)

    path = f"/p/default/evaluations/{ParallelGroupRecord.objects.get().pk}{later.attributes['data-rows']}"
    response = reader.get(path, headers={"HX-Request": "true"})

    html = response.content.decode()
    assert html.count("<tbody") == 1
    assert f'id="{later.id}"' in html
    assert f'data-version="{later.attributes["data-version"]}"' in html
    assert "file-60" in html
    assert "file-59" not in html
    assert "HX-Request" in response["Vary"]
    assert evaluation("?row=61").html.count('class="step"') == 41 * 2


def test_its_session_and_the_list_of_sessions_link_to_it(feed, see):
    feed(tape="03")
    group = ParallelGroupRecord.objects.get()

    assert f"/p/default/evaluations/{group.pk}" in see(f"/p/default/sessions/{group.session_id}").links
    assert f"/p/default/evaluations?session={group.session_id}" in see("/p/default/sessions").links


def test_the_work_grows_linearly_with_the_number_of_turns(feed, reader):
    chance = Random(12)
    numbers = range(1, 13)
    branches = [
        branch(n, *(f"read {n if chance.random() < 0.7 else chance.randrange(99)}" for _ in range(300)))
        for n in numbers
    ]
    half = len(branches[0]) // 2
    feed(start(*numbers), *(event for events in branches for event in events[:half]))
    path = f"/p/default/evaluations/{ParallelGroupRecord.objects.get().pk}"
    before = works(reader, path)
    feed(*(event for events in branches for event in events[half:]), *judge("3"), end(3))

    for query, work in works(reader, path).items():
        assert work <= 3 * before[query], query


def works(reader, path):
    """Return the number of calls per kind of table; the first, uncached request does not count."""
    queries = ("", "?branches=1,2,3,4,5,6", "?branches=1,2,3,4,5,6&only=diff")
    return {query: min(count_calls(reader.get, path + query) for _ in range(2)) for query in queries}


def test_a_branch_that_several_configs_answered_names_all(feed, evaluation):
    feed(start(1, 2), *branch(1, "Done."), *build.handed_over(loop_id(2)), *judge("2"), end(2))
    page = evaluation()

    heads = [e for e in page.root.walk() if "comparison-branch" in e.attributes.get("class", "")]
    names = [[b.attributes["title"] for b in head.walk() if b.tag == "b"] for head in heads]
    assert sorted(map(len, names)) == [2, 2]  # model-1 was answered by another model
    assert ["claude-haiku-4-5", "claude-sonnet-4-5"] in names
    swatches = [i.attributes["class"] for head in heads for i in head.walk() if i.tag == "i"]
    assert len(set(swatches)) == 4
    assert "claude-haiku-4-5 won." in page.text
