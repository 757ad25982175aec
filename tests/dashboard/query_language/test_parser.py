"""Every production of the grammar, and the position of every error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.query_language import QueryError, parse, print_query
from dashboard.query_language.keys import KEYS
from dashboard.query_language.nodes import And, Condition, Not, Or, Words
from dashboard.query_language.parser import DEPTH_MAX, LENGTH_MAX, NODES_MAX


def is_(key, *values, operator="="):
    return Condition(key, operator, values)


A, B, C = Words("a"), Words("b"), Words("c")
PRODUCTIONS = {
    "": None,
    "  \n": None,
    "a": A,
    "a b": And((A, B)),
    "a AND b": And((A, B)),
    "a OR b": Or((A, B)),
    "a b OR c": Or((And((A, B)), C)),
    "a (b OR c)": And((A, Or((B, C)))),
    "(a)": A,
    "NOT a": Not(A),
    "-a": Not(A),
    "!a": Not(A),
    "-(a b)": Not(And((A, B))),
    "NOT(a)": Not(A),
    "NOT NOT a": Not(Not(A)),
    "a or b": And((A, Words("or"), B)),
    '"a phrase"': Words("a phrase", is_phrase=True),
    '"a \\"b\\" \\\\"': Words('a "b" \\', is_phrase=True),
    '-"a phrase"': Not(Words("a phrase", is_phrase=True)),
    "fail*": Words("fail", is_prefix=True),
    '"two wor"*': Words("two wor", is_phrase=True, is_prefix=True),
    "服*": Words("服", is_prefix=True),
    "*": Words("*"),
    "--verbose": Words("--verbose"),
    "->": Words("->"),
    "a-b": Words("a-b"),
    "main()": Words("main()"),
    "f(x)": Words("f(x)"),
    "http://host:80/x": Words("http://host:80/x"),
    "12:30": Words("12:30"),
    "服务端": Words("服务端"),
    "错误:超时": Words("错误:超时"),
    "status:failed": is_("status", "failed"),
    "Status:FAILED": is_("status", "failed"),
    "-status:failed": Not(is_("status", "failed")),
    "!status:failed": Not(is_("status", "failed")),
    "NOT status:failed": Not(is_("status", "failed")),
    "status:[failed,limit]": is_("status", "failed", "limit"),
    "tool:[ bash , \"two words\" ]": is_("tool", "bash", "two words"),
    'agent:"two words"': is_("agent", "two words"),
    "model:claude*": is_("model", "claude", operator="begins"),
    'model:"claude o"*': is_("model", "claude o", operator="begins"),
    'model:"claude*"': is_("model", "claude", operator="begins"),
    'model:"claude o*"': is_("model", "claude o", operator="begins"),
    'model:"claude\\*"': is_("model", "claude*"),
    'model:"claude\\\\*"': is_("model", "claude\\", operator="begins"),
    'model:"claude\\*"*': is_("model", "claude*", operator="begins"),
    'model:"claude**"': is_("model", "claude*", operator="begins"),
    'model:"*"': is_("model", "*"),
    "model:*": is_("model", "*"),
    "agent:[test*,zz]": Condition("agent", "=", ("zz",), ("test",)),
    "agent:[test*]": is_("agent", "test", operator="begins"),
    "agent:[a*,\"b c*\",\"d\"*]": is_("agent", "a", "b c", "d", operator="begins"),
    'agent:["test\\*",zz,*]': is_("agent", "test*", "zz", "*"),
    "-agent:[test*,zz]": Not(Condition("agent", "=", ("zz",), ("test",))),
    "cost:>1.50": is_("cost", "1.50", operator=">"),
    "cost:>=$1.50": is_("cost", "$1.50", operator=">="),
    "tokens:<10k": is_("tokens", "10k", operator="<"),
    "turns:<=20": is_("turns", "20", operator="<="),
    "turns:20": is_("turns", "20"),
    "turns:[1,2]": is_("turns", "1", "2"),
    "duration:>90s": is_("duration", "90s", operator=">"),
    "duration:>1.5h": is_("duration", "1.5h", operator=">"),
    "since:7d": is_("since", "7d"),
    "until:2026-11-01T14:00Z": is_("until", "2026-11-01T14:00Z"),
    "tool.error:true": is_("tool.error", "true"),
    "has:note": is_("has", "note"),
    "has:score.Quality": is_("has", "score.Quality"),
    "is:live": is_("is", "live"),
    "Metadata.Team:core": is_("metadata.Team", "core"),
    'metadata."a: b":c': is_("metadata.a: b", "c"),
    "score.Quality:>=4": is_("score.Quality", "4", operator=">="),
    "score.delta:>-1": is_("score.delta", "-1", operator=">"),
    "(status:failed)": is_("status", "failed"),
    "metadata.url:\"//x\"": is_("metadata.url", "//x"),
    "status:failed a": And((is_("status", "failed"), A)),
}  # fmt: skip
ERRORS = {  # query: position, length, fixed query
    "costs:>1": (0, 5, "cost:>1"),
    "a csot:>1": (2, 4, "a cost:>1"),
    "foo:bar": (0, 7, '"foo:bar"'),
    'x foo:"a b"': (2, 9, 'x "foo:\\"a b\\""'),
    "metadata.:x": (0, 11, '"metadata.:x"'),
    "cost:high": (5, 4, None),
    "cost:>high": (6, 4, None),
    "since:7x": (6, 2, None),
    "since:2026-13-01": (6, 10, None),
    "duration:90": (9, 2, None),
    "status:faild": (7, 5, "status:failed"),
    "status:[failed,xyz]": (15, 3, None),
    "tool.error:maybe": (11, 5, None),
    "model:>x": (6, 1, "model:x"),
    "status:fail*": (11, 1, "status:fail"),
    "status:[limit,fail*]": (18, 1, "status:[limit,fail]"),
    'status:"fail*"': (12, 1, 'status:"fail"'),
    "turns:[1*,2]": (8, 1, "turns:[1,2]"),
    "cost:>1*": (7, 1, "cost:>1"),
    "cost:>[1,2]": (5, 1, "cost:[1,2]"),
    "status:": (0, 7, None),
    "status: failed": (0, 7, None),
    "status:[": (7, 1, None),
    "status:[]": (8, 1, None),
    "status:[failed": (7, 1, None),
    "status:[failed limit]": (15, 1, None),
    'status:["failed]': (8, 8, None),
    'agent:""': (6, 2, None),
    "(a b": (0, 1, None),
    "a (status:failed OR": (17, 2, None),
    "a)": (1, 1, "a"),
    ")": (0, 1, ""),
    "()": (0, 2, ""),
    "(": (0, 1, None),
    "a OR": (2, 2, None),
    "OR a": (0, 2, '"OR" a'),
    "AND": (0, 3, '"AND"'),
    "NOT": (0, 3, None),
    "a AND OR b": (2, 3, None),
    '"a': (0, 2, '"a"'),
    'x "a\\': (2, 3, None),
    "a\0b": (1, 1, "ab"),
    "is:dead": (3, 4, None),
    "has:nothing": (4, 7, None),
}


@pytest.mark.parametrize("text", PRODUCTIONS)
def test_a_query_is_read_as_its_nodes_and_printed_so_that_they_come_back(text):
    node = parse(text)
    assert node == PRODUCTIONS[text]
    assert parse(print_query(node)) == node


@pytest.mark.parametrize("text", ERRORS)
def test_an_error_has_a_position_and_one_fix_or_none(text):
    with pytest.raises(QueryError) as raised:
        parse(text)
    error = raised.value
    assert (error.at, error.length, error.fixed(text)) == ERRORS[text]
    assert error.message.endswith(".") or "?" in error.message or "found" in error.message


@pytest.mark.parametrize("key", KEYS.values(), ids=lambda key: key.name)
def test_the_example_of_every_key_is_a_query(key):
    node = parse(key.example)
    assert isinstance(node, Condition)
    assert print_query(node) == key.example


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("x" * (LENGTH_MAX + 1), LENGTH_MAX),
        ("(" * (DEPTH_MAX + 1) + "a" + ")" * (DEPTH_MAX + 1), DEPTH_MAX),
        ("NOT " * (DEPTH_MAX + 1) + "a", 4 * DEPTH_MAX),
        ("a " * (NODES_MAX + 1), 2 * NODES_MAX),
        ("tool:[" + ",".join("a" * 51) + "]", 106),
        ("tool:[" + ",".join(["a*"] * 40) + "] agent:[" + ",".join(["a*"] * 40) + "]", 127),
        ("tool:" + "a" * 513, 5),
        ("ok a*", 3),
        ('"two w"*', 0),
    ],
    ids=[
        "length",
        "parentheses",
        "negations",
        "nodes",
        "values",
        "beginnings",
        "value",
        "prefix",
        "prefix of a phrase",
    ],
)
def test_a_query_has_bounds(text, at):
    with pytest.raises(QueryError) as raised:
        parse(text)
    assert raised.value.at == at


SIGNS = st.sampled_from([*' ()[]",*-!<>=:.$\\', "AND", "OR", "NOT", "cost:", "tool:", "metadata.", "is:live"])
TEXT = st.lists(SIGNS | st.text(max_size=3), max_size=20).map("".join)


@given(TEXT | st.text(max_size=60))
def test_no_text_raises_anything_but_a_query_error_and_what_is_read_is_printed(text):
    try:
        node = parse(text)
    except QueryError as error:
        found = error.at, error.at + error.length
    else:
        found = 0, 0
        printed = print_query(node)
        assert parse(printed) == node
        assert print_query(parse(printed)) == printed
    assert 0 <= found[0] <= found[1] <= len(text)


def test_a_fix_of_an_unknown_key_is_a_query():
    with pytest.raises(QueryError) as raised:
        parse('x foo:"a \\"b"')
    fixed = raised.value.fixed('x foo:"a \\"b"')
    assert parse(fixed) == And((Words("x"), Words('foo:"a \\"b"', is_phrase=True)))
