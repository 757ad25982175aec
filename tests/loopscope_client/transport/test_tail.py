"""A growing file: each line is handed over once, whatever happens to the file."""

import pytest

from loopscope_client.transport.tail import Following


class Reader:
    """Follows a file again and again, as programs that are started anew do."""

    def __init__(self, folder):
        self.path, self.notes, self.got = folder / "events.jsonl", folder / "tail.json", []
        self.start()

    def start(self):
        self.following = Following(self.path, self.notes, lambda: len(self.got), self.got.append)

    def write(self, text, mode="a"):
        with self.path.open(mode) as file:
            file.write(text)

    def read(self):
        while self.following.step():
            pass
        return [line.decode() for line in self.got]


@pytest.fixture
def reader(tmp_path):
    reader = Reader(tmp_path)
    yield reader
    reader.following.close()


def test_lines_come_as_the_file_grows_and_only_whole(reader):
    assert reader.read() == []
    reader.write('{"n":1}\n\n{"n":2}\n{"n"')
    assert reader.read() == ['{"n":1}', '{"n":2}']

    reader.write(":3}\n")

    assert reader.read() == ['{"n":1}', '{"n":2}', '{"n":3}']


def test_started_again_it_goes_on_where_it_was(reader):
    reader.write("1\n2\n")
    reader.read()
    reader.following.close()
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


def test_a_file_that_was_replaced_while_nobody_looked_is_a_new_one(reader):
    reader.write("1\n2\n")
    reader.read()
    reader.following.close()
    reader.write("3\n4\n", "w")

    reader.start()

    assert reader.read() == ["1", "2", "3", "4"]
    reader.following.close()
    reader.write("5\n")
    reader.start()
    assert reader.read() == ["1", "2", "3", "4", "5"]
