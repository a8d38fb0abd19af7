"""What this worker derives, against what Everlog derives."""

import json
import unittest
from pathlib import Path

import wire


class Groups(unittest.TestCase):
    def test_groups_are_those_of_everlog(self) -> None:
        vectors = json.loads((Path(__file__).parents[1] / "group-ids.json").read_text())
        self.assertGreaterEqual(len(vectors), 4)
        for vector in vectors:
            self.assertEqual(wire.group_id(vector["namespace"], vector["workflow"]), vector["group"])


if __name__ == "__main__":
    unittest.main()
