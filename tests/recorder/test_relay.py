"""What a node hears of the others: a hole in their numbers, or silence, means that something was missed."""

from recorder.relay import DEAF_S, Ears


def test_numbers_without_a_hole_mean_that_nothing_was_missed():
    ears = Ears("me")
    assert not any(ears.has_missed("other", number, 0.0) for number in range(1, 10))


def test_a_hole_in_the_numbers_of_a_node_means_that_something_was_missed_once():
    ears = Ears("me")
    heard = [ears.has_missed("other", number, 0.0) for number in (1, 2, 5, 6)]
    assert heard == [False, False, True, False]


def test_a_node_first_heard_in_the_middle_may_have_said_something_before():
    assert Ears("me").has_missed("other", 7, 0.0)


def test_each_node_has_numbers_of_its_own():
    ears = Ears("me")
    heard = [ears.has_missed(node, number, 0.0) for node, number in [("a", 1), ("b", 1), ("a", 2), ("b", 2)]]
    assert not any(heard)


def test_what_a_node_says_itself_is_never_missed():
    assert not Ears("me").has_missed("me", 12, 0.0)


def test_a_node_that_falls_silent_may_have_committed_what_it_did_not_say():
    ears = Ears("me")
    ears.has_missed("other", 1, 0.0)
    ears.has_missed("me", 1, DEAF_S)

    assert not ears.has_lost_one(DEAF_S)
    assert ears.has_lost_one(DEAF_S + 0.1)
    assert not ears.has_lost_one(DEAF_S + 0.2)
