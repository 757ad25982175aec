"""Configs: one key for equal settings, and labels that distinguish them."""

from recorder.core.handlers.model_configs import COMPARED_MAX, config_key, labels
from recorder.core.records import ModelConfig
from tests.support.build import agent_start
from tests.support.memory_store import Play


def config(**snapshot):
    snapshot = {"model": "claude-sonnet-4-6", "provider": "anthropic", **snapshot}
    return ModelConfig(
        key=config_key(snapshot), model=snapshot["model"], provider=snapshot["provider"], snapshot=snapshot
    )


def named(*configs):
    made = labels(configs)
    return [str(made[config.key]) for config in configs]


def test_key_order_and_nulls_do_not_change_the_config_key():
    assert config_key({"model": "m", "provider": "p"}) == config_key(
        {"provider": "p", "model": "m", "name": None}
    )
    assert config_key({"model": "m", "provider": "p"}) != config_key({"model": "m", "provider": "q"})


def test_any_snapshot_has_a_key():
    assert config_key({"model": "\ud800", "x": [None, 1e999]}) != config_key(None)


def test_a_single_config_is_labelled_by_its_model():
    assert named(config(model="models/gemini-2.5-pro"), config()) == ["gemini-2.5-pro", "claude-sonnet-4-6"]


def test_configs_of_one_model_are_labelled_by_the_parameter_that_differs():
    low, high = config(thinking_level="low", max_tokens=9), config(thinking_level="high", max_tokens=9)

    assert named(low, high) == ["claude-sonnet-4-6 thinking low", "claude-sonnet-4-6 thinking high"]


def test_an_unset_parameter_is_labelled_as_missing():
    assert named(config(temperature=0.2, max_tokens=9), config(max_tokens=9)) == [
        "claude-sonnet-4-6 temperature 0.2",
        "claude-sonnet-4-6 no temperature",
    ]


def test_configs_that_differ_only_in_their_id_are_labelled_by_it():
    one, two = config(config_id="one"), config(config_id="two")
    one.config_id, two.config_id = "one", "two"

    assert named(one, two) == ["claude-sonnet-4-6 one", "claude-sonnet-4-6 two"]


def test_configs_with_equal_settings_are_labelled_by_id():
    one, two = config(config_id="one", a=1), config(config_id="two", a=1)
    one.config_id, two.config_id = "one", "two"

    assert named(one, two, config(a=2)) == [
        "claude-sonnet-4-6 one",
        "claude-sonnet-4-6 two",
        "claude-sonnet-4-6 a 2",
    ]


def test_configs_that_need_two_parameters_are_labelled_by_both():
    configs = [config(a=1, b=1), config(a=1, b=2), config(a=2, b=1)]

    assert len(set(named(*configs))) == 3


def test_the_thinking_level_precedes_max_tokens_in_a_label():
    quick, deep = config(max_tokens=8192), config(max_tokens=16384, thinking_level="medium")

    assert named(quick, deep) == ["claude-sonnet-4-6 no thinking", "claude-sonnet-4-6 thinking medium"]


def test_a_config_without_settings_is_labelled_by_its_model_and_id():
    plain, tagged = config(), config(config_id="anthropic.claude-sonnet-4-6.fast")
    tagged.config_id = "anthropic.claude-sonnet-4-6.fast"

    assert named(plain, tagged, config(thinking_level="off"))[:2] == [
        "claude-sonnet-4-6",
        "claude-sonnet-4-6 fast",
    ]


def test_sizes_are_labelled_as_token_counts_and_switches_as_on_or_off():
    small, large = config(context_window=200_000), config(context_window=1_048_576)
    plain, thinking = config(model="m", reasoning=False), config(model="m", reasoning=True)

    assert named(small, large) == ["claude-sonnet-4-6 context 200k", "claude-sonnet-4-6 context 1.05M"]
    assert named(plain, thinking) == ["m reasoning off", "m reasoning on"]


def test_the_config_without_an_own_name_is_labelled_by_its_model_alone():
    plain, tagged, without = config(config_id="plain", top=1), config(config_id="fast", top=1), config(top=1)
    plain.config_id, tagged.config_id = "anthropic.claude-sonnet-4-6", "fast"

    assert named(plain, tagged, without) == [
        "claude-sonnet-4-6",
        "claude-sonnet-4-6 fast",
        "claude-sonnet-4-6 no config id",
    ]


def test_a_new_config_never_renames_an_old_one():
    lines = [
        agent_start(f"s.a.{number}", config_snapshot={"model": "m", "provider": "p", **settings})
        for number, settings in enumerate(({"t": 1}, {"t": 2}, {"t": 3, "u": 1}, {"t": 3, "u": None, "v": 1}))
    ]
    store, seen = Play(), {}
    for number, line in enumerate(lines):
        store.feed(line)
        for config in store.of(ModelConfig):
            assert seen.setdefault(config.key, config.parameter) == config.parameter
        assert len(set(seen.values())) == len(seen) == number + 1

    assert list(seen.values())[:2] == ["", "t 2"]


def test_many_configs_of_one_model_have_labels_that_differ():
    store = Play()
    for number in range(COMPARED_MAX + 20):
        snapshot = {"model": "m", "provider": "p", "note": "x" * 300 + str(number)}
        store.feed(agent_start(f"s.a.{number}", config_snapshot=snapshot))

    parameters = [config.parameter for config in store.of(ModelConfig)]
    assert len(set(parameters)) == len(parameters) == COMPARED_MAX + 20
    assert max(map(len, parameters)) <= 200
