"""Studies as tests run them: on one small store, each once, all of a test file into one folder."""
import json

import pytest

EPISODES = 12
SEED = 3
FLAGS = ["--episodes", EPISODES, "--seed", SEED]
# Of a class there are enough samples for five shots and 15 queries, and no more.
STORE = {"dim": 12, "views": 3, "class_sizes": (20, 24)}


class Study:
    def __init__(self, folder, name):
        self.folder = folder
        self.document = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        self.tables = {table["name"]: table for table in self.document["tables"]}

    def rows(self, table, **wanted):
        columns = [column["name"] for column in self.tables[table]["columns"]]
        rows = [dict(zip(columns, row)) for row in self.tables[table]["rows"]]
        return [row for row in rows if all(row[key] == value for key, value in wanted.items())]

    def row(self, table, **wanted):
        (found,) = self.rows(table, **wanted)
        return found

    def pool(self, method, shots, store="store"):
        return json.loads((self.folder / "pools" / f"{store}-{method}-{shots}-shot.json").read_text())["members"]


class StudyFolder:
    """Runs a study on the store, once."""

    def __init__(self, deepvoro, store, folder):
        self.deepvoro, self.store, self.folder = deepvoro, store, folder
        self.done = {}

    def __call__(self, name, *flags):
        if name not in self.done:
            process = self.deepvoro("study", name, self.store, *FLAGS, *flags, "--out", self.folder)
            assert process.returncode == 0, process.stderr
            self.done[name] = Study(self.folder, name)
        return self.done[name]


@pytest.fixture(scope="module")
def store(make_store):
    return make_store(**STORE)


@pytest.fixture(scope="module")
def study(deepvoro, store, tmp_path_factory):
    return StudyFolder(deepvoro, store, tmp_path_factory.mktemp("paper"))
