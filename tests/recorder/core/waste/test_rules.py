"""The rules of waste, each with what nearly is."""

import pytest

from recorder.core.waste.calls import Ref, Turn, call_of, is_cut
from recorder.core.waste.loop import MOST, LoopWaste, reruns


class Loop:
    """A loop whose calls are numbered: each is a turn of its own, unless `turn` says which."""

    def __init__(self):
        self.waste, self.line, self.found = LoopWaste(), 0, []

    def call(self, tool, arguments, result="same", *, failed=False, turn=None):
        self.line += 1
        content = {"content": [{"type": "text", "text": result}]}
        ref = Ref(turn or self.line, self.line, self.line)
        found = self.waste.add_call(call_of(ref, tool, arguments, content, has_failed=failed))
        self.found += found
        self.waste = LoopWaste.load(self.waste.dump())
        return found

    def turn(self, *, is_cut=False, is_lost=False):
        self.line += 1
        found = self.waste.add_turn(Turn(Ref(self.line, None, self.line), is_cut=is_cut, is_lost=is_lost))
        self.found += found
        return found

    @property
    def rules(self):
        return [each.rule for each in self.found]

    @property
    def wasted(self):
        return [ref.line for each in self.found for ref in each.wasted]

    @property
    def alarms(self):
        return [each.line for each in self.found if each.is_alarm]


@pytest.fixture
def loop():
    return Loop()


def test_the_third_same_call_is_found_with_the_second_and_the_fourth_is_an_alarm(loop):
    for _ in range(4):
        loop.call("query", {"table": "users", "limit": 5})

    assert loop.rules == ["same_call"] * 2
    assert [each.added for each in loop.found] == [3, 1]
    assert loop.wasted == [2, 3, 4]
    assert loop.alarms == [4]
    assert loop.found[0].first_line == 1
    assert loop.found[0].name == "query"


def test_the_order_of_keys_is_irrelevant_and_values_are_not(loop):
    loop.call("query", {"a": 1, "b": [1, 2]})
    loop.call("query", {"b": [1, 2], "a": 1})
    loop.call("query", {"a": 1, "b": [2, 1]})
    assert not loop.found
    assert loop.call("query", {"a": 1, "b": [1, 2]})


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("wait", {"seconds": 5}),
        ("sleep", {}),
        ("pollQueue", {"queue": "q"}),
        ("BashOutput", {"bash_id": "b1"}),
        ("get_job_status", {"job": 7}),
        ("check_status", {"wait_ms": 500}),
        ("bash", {"command": "sleep 5; cat result.txt"}),
        ("bash", {"command": "gh run view 7"}),
        ("shell", {"command": ["bash", "-lc", "kubectl get pods"]}),
        ("Read", {"file_path": "/tmp/train.log"}),
        ("click", {"x": 10, "y": 20}),
        ("press_key", {"key": "Down"}),
    ],
)
def test_calls_that_wait_or_act_are_never_the_same(loop, tool, arguments):
    for _ in range(8):
        loop.call(tool, arguments)
    assert not loop.found


def test_a_call_whose_result_changed_in_between_is_a_poll(loop):
    for result in ("queued", "queued", "running", "queued", "queued"):
        loop.call("fetch_queue", {"id": 7}, result)
    assert not loop.found


def test_a_call_after_something_may_have_changed_is_another_question(loop):
    for text in "abc":
        loop.call("bash", {"command": "pytest -q"}, "1 failed")
        loop.call("edit_file", {"path": "a.py", "new": text})
    loop.call("bash", {"command": "pytest -q"}, "1 failed")
    assert not loop.found


def test_reading_calls_in_between_change_nothing(loop):
    for text in "abcd":
        loop.call("bash", {"command": "pytest -q"}, "1 failed")
        loop.call("grep", {"pattern": text}, text)
    assert loop.rules == ["same_call"] * 2
    assert len(loop.alarms) == 1


@pytest.mark.parametrize("result", ["", None])
def test_results_that_were_not_recorded_are_not_equal(loop, result):
    for line in range(1, 6):
        content = {"content": [{"type": "text", "text": ""}]} if result == "" else result
        loop.waste.add_call(call_of(Ref(line, line, line), "query", {"a": 1}, content, has_failed=False))
    assert not loop.waste.repetitions


def test_arguments_that_were_not_recorded_are_not_equal(loop):
    for _ in range(5):
        loop.call("query", None)
    assert not loop.found


def test_two_calls_that_alternate_are_found_at_the_second_time_and_are_an_alarm_at_the_fourth(loop):
    for _ in range(4):
        loop.call("edit_file", {"path": "a", "old": "x", "new": "y"}, "replaced")
        loop.call("edit_file", {"path": "a", "old": "y", "new": "x"}, "replaced")

    assert set(loop.rules) == {"alternating"}
    assert sum(each.added for each in loop.found) == 4
    assert loop.wasted == [3, 4, 5, 6, 7, 8]
    assert loop.alarms == [8]
    assert len({each.key for each in loop.found}) == 1


@pytest.mark.parametrize("results", ["abac", "abcb", "aaab"])
def test_an_alternation_needs_equal_results_and_two_calls(loop, results):
    names = {"a": "deploy", "b": "verify_it", "c": "deploy"}
    for result in results:
        loop.call(names[result], {"to": 1}, result)
    assert "alternating" not in loop.rules


def test_same_calls_side_by_side_are_one(loop):
    for turn in (1, 1, 1, 1, 2, 2):
        loop.call("query", {"a": 1}, turn=turn)
    assert not loop.found


def test_two_calls_side_by_side_do_not_alternate(loop):
    for turn in (1, 2):
        loop.call("query", {"a": 1}, turn=turn)
        loop.call("query", {"a": 2}, turn=turn)
    assert not loop.found


def test_calls_of_an_alternation_count_for_no_other_rule(loop):
    for _ in range(5):
        loop.call("query", {"a": 1})
        loop.call("query", {"a": 2})
    assert set(loop.rules) == {"alternating"}
    assert len(loop.wasted) == len(set(loop.wasted)) == 8


ERROR = "Traceback\nValueError: matrix of shape {} by {} is singular"


def test_the_same_error_of_other_arguments_is_found(loop):
    for number in range(4):
        loop.call("solve", {"seed": number}, ERROR.format(number, 7), failed=True)
    assert loop.rules == ["same_error"] * 2
    assert loop.wasted == [2, 3, 4]
    assert loop.alarms == [4]


def test_errors_after_a_change_of_another_tool_or_of_calls_side_by_side_are_not_the_same(loop):
    for number in range(4):
        loop.call("solve", {"seed": number}, ERROR.format(1, 1), failed=True)
        loop.call("write_file", {"path": "a", "text": str(number)})
    for name in ("one", "two", "three", "four"):
        loop.call(name, {}, ERROR.format(1, 1), failed=True)
    for number in range(9):
        loop.call("invert", {"seed": number}, ERROR.format(1, 1), failed=True, turn=99)
    assert not loop.found


@pytest.mark.parametrize(
    "error",
    [
        "Exit code 1",
        "Error: file 'src/{}.py' not found",
        "No such file or directory: '{}'",
        "The user doesn't want to proceed with this tool use",
        "",
    ],
)
def test_a_search_for_the_right_place_is_no_error_again(loop, error):
    for number in range(6):
        loop.call("open_it", {"at": number}, error.format(number), failed=True)
    assert not loop.found


def test_an_error_that_says_little_counts_for_the_same_arguments(loop):
    for _ in range(4):
        loop.call("bash", {"command": "make"}, "Exit code 2", failed=True)
    assert loop.rules == ["same_error"] * 2


def read(loop, path="src/a.py", result="text of a", **more):
    return loop.call("read_file", {"path": path, **more}, result)


def test_an_unchanged_file_is_found_when_it_is_read_again(loop):
    assert not read(loop)
    assert read(loop)[0].name == "src/a.py"
    read(loop)
    assert not loop.alarms
    read(loop)
    assert loop.rules == ["reread"] * 3
    assert [each.added for each in loop.found] == [2, 1, 1]
    assert loop.wasted == [2, 3, 4]
    assert loop.alarms == [4]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("edit_file", {"path": "src/a.py", "old": "x"}),
        ("bash", {"command": "sed -i s/x/y/ src/a.py"}),
        ("bash", {"command": "cd src && black a.py"}),
        ("apply_patch", {"patch": "*** Update File: src/a.py"}),
    ],
)
def test_a_read_behind_a_call_that_names_the_file_is_needed(loop, tool, arguments):
    read(loop)
    loop.call(tool, arguments, "done")
    read(loop)
    assert not loop.found


def test_a_read_behind_calls_that_do_not_name_the_file_is_not_needed(loop):
    read(loop)
    loop.call("bash", {"command": "pytest -q"}, "1 failed")
    loop.call("edit_file", {"path": "src/b.py"}, "done")
    loop.call("edit_file", {"path": "src/a.py"}, "old text not found", failed=True)
    read(loop)
    assert loop.rules == ["reread"]


def test_another_range_another_result_and_another_file_are_no_reads_again(loop):
    read(loop, offset=1)
    read(loop, offset=100)
    read(loop, path="src/b.py")
    read(loop, offset=1, result="another text")
    assert not loop.found


def test_a_file_with_letters_of_any_alphabet_is_found_in_arguments(loop):
    read(loop, path="src/größe\u202e.py")
    loop.call("edit_file", {"path": "/home/dev/src/größe\u202e.py"}, "done")
    read(loop, path="src/größe\u202e.py")
    assert not loop.found


def test_commands_that_print_a_file_read_it(loop):
    for command in ("cat src/a.py", "cat src/a.py", "sed -n 1,20p src/b.py", "sed -n 1,20p src/b.py"):
        loop.call("bash", {"command": command})
    loop.call("shell", {"command": ["bash", "-lc", "cat a; rm a"]})
    assert [each.name for each in loop.found] == ["src/a.py", "src/b.py"]


def test_after_a_compaction_nothing_is_a_repetition(loop):
    for _ in range(2):
        read(loop)
        loop.call("query", {"a": 1})
        loop.call("solve", {}, ERROR.format(1, 1), failed=True)
        loop.waste.compacted()
    assert not loop.found


def test_outputs_that_were_cut_are_an_alarm_when_four_follow_one_another(loop):
    for cut in (True, True, True, False, True, True, True):
        loop.turn(is_cut=cut)
    assert loop.rules == ["cut_output"] * 6
    assert not loop.alarms
    loop.turn(is_cut=True)
    assert len(loop.alarms) == 1


def test_a_failed_turn_is_thrown_away_when_the_loop_goes_on(loop):
    assert not loop.turn(is_lost=True)
    found = loop.turn()
    assert [each.rule for each in found] == ["thrown_away"]
    assert loop.wasted == [1]
    assert not loop.turn()


def test_a_rerun_throws_the_turns_before_it_away():
    found = reruns([Ref(1, None, 5), Ref(2, None, 9)], 12)
    assert (found.rule, found.first_line, found.line, len(found.wasted)) == ("thrown_away", 5, 12, 2)


@pytest.mark.parametrize("stop", ["length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "maxTokens"])
def test_the_word_of_every_provider_for_the_limit_counts(stop):
    assert is_cut(stop)
    assert not is_cut("stop")


def test_the_state_is_bounded(loop):
    for number in range(3 * MOST):
        loop.waste.add_call(
            call_of(
                Ref(number, number, number),
                "\u202e\x00read_file",
                {"path": f"{number}" + "x" * 1_000, "more": "\x00\ud800" * 10},
                {"content": [{"type": "text", "text": "y" * 1_000}]},
                has_failed=False,
            )
        )
    assert len(loop.waste.repetitions) == MOST
    assert len(str(loop.waste.dump())) < 1_000 * MOST


def test_a_call_that_was_forgotten_in_between_begins_anew(loop):
    for _ in range(2):
        read(loop)
        for number in range(MOST):
            loop.call("query", {"a": number}, str(number))
    assert not loop.found


@pytest.mark.parametrize(
    "arguments", [None, [], "text", 7, {"command": None}, {"command": ["a", 7, None]}, {"path": 7}]
)
@pytest.mark.parametrize(
    "result", [None, [], "text", 7, {"content": None}, {"content": [None, 7, {"text": 3}]}]
)
@pytest.mark.parametrize("failed", [True, False])
def test_calls_of_any_shape_are_accepted(loop, arguments, result, failed):
    for line in range(1, 5):
        loop.waste.add_call(call_of(Ref(line, line, line), "read", arguments, result, has_failed=failed))
    assert LoopWaste.load(loop.waste.dump()) == loop.waste
