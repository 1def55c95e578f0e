"""The guest of tests/system/guest/run."""
import importlib.machinery
import importlib.util
import os
import sys
import unittest

SYSTEM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "system")


class Guest(unittest.TestCase):
    def test_its_tests_are_there(self):
        """It ran test_steps.py, which was gone: the run of all of them failed each time."""
        sys.dont_write_bytecode = True
        loader = importlib.machinery.SourceFileLoader("guest_run", os.path.join(SYSTEM, "guest", "run"))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader("guest_run", loader))
        loader.exec_module(module)
        missing = [name for name in module.TESTS if not os.path.exists(os.path.join(SYSTEM, f"test_{name}.py"))]
        self.assertEqual(missing, [])
        self.assertTrue(os.path.exists(os.path.join(module.TRANSCRIPTS, "1-install.txt")))


if __name__ == "__main__":
    unittest.main()
