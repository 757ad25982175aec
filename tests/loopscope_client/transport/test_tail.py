"""A growing file: each line is forwarded once, through rotation, truncation and restarts."""

import pytest

from loopscope_client.transport.tail import FileFollower


class Reader:
    """Follows a file, and again after a restart."""

    def __init__(self, folder):
        self.path, self.notes, self.forwarded = folder / "events.jsonl", folder / "tail.json", []
        self.start()

    def start(self):
        self.follower = FileFollower(
            self.path, self.notes, lambda: len(self.forwarded), self.forwarded.append
        )

    def write(self, text, mode="a"):
        with self.path.open(mode) as file:
            file.write(text)

    def read(self):
        while self.follower.step():
            pass
        return [line.decode() for line in self.forwarded]


@pytest.fixture
def reader(tmp_path):
    reader = Reader(tmp_path)
    yield reader
    reader.follower.close()


def test_complete_lines_are_forwarded_as_the_file_grows(reader):
    assert reader.read() == []
    reader.write('{"n":1}\n\n{"n":2}\n{"n"')
    assert reader.read() == ['{"n":1}', '{"n":2}']

    reader.write(":3}\n")

    assert reader.read() == ['{"n":1}', '{"n":2}', '{"n":3}']


def test_after_a_restart_it_continues_at_its_position(reader):
    reader.write("1\n2\n")
    reader.read()
    reader.follower.close()
    reader.write("3\n")

    reader.start()

    assert reader.read() == ["1", "2", "3"]


def test_a_rotated_file_is_read_to_its_end_and_then_the_next(reader):
    reader.write("1\n2\n")
    reader.read()
    reader.write("3\nlast")
    reader.path.rename(reader.path.with_suffix(".1"))
    reader.write("4\n")

    assert reader.read() == ["1", "2", "3", "last", "4"]


def test_a_truncated_file_is_read_from_its_beginning(reader):
    reader.write("1\n2\n3\n")
    reader.read()
    reader.write("4\n", "w")

    assert reader.read() == ["1", "2", "3", "4"]


def test_a_file_replaced_between_two_runs_is_read_from_its_beginning(reader):
    reader.write("1\n2\n")
    reader.read()
    reader.follower.close()
    reader.write("3\n4\n", "w")

    reader.start()

    assert reader.read() == ["1", "2", "3", "4"]
    reader.follower.close()
    reader.write("5\n")
    reader.start()
    assert reader.read() == ["1", "2", "3", "4", "5"]
