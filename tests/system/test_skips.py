"""tools/skips.py finds each kind of skip in what ctest has logged, and lets pass what is on the list alone."""
import os
import subprocess
import sys
import tempfile
import unittest

from harness import ROOT

LOG = """Start testing: Nov 24 20:35 UTC
3/9 Testing: rpc:ConfigFetch.Group
3/9 Test: rpc:ConfigFetch.Group
[ RUN      ] ConfigFetch.Group
/somewhere/config_fetch_test.cpp:137: Skipped
no munged

[  SKIPPED ] ConfigFetch.Group (0 ms)
4/9 Testing: os:AppendFile.Links
4/9 Test: os:AppendFile.Links
[ RUN      ] AppendFile.Links
/somewhere/append_file_test.cpp:62: Skipped
gives links away

[  SKIPPED ] AppendFile.Links (0 ms)
5/9 Testing: system:users
5/9 Test: system:users
skipped: __main__.Users.test_mounts: no mount namespaces here
..s
6/9 Testing: system:hosts
6/9 Test: system:hosts
skipped: needs root
7/9 Testing: issues:operations
skipped: __main__.Site.test_units: there is no systemd-analyze
"""


class Skips(unittest.TestCase):
    def skips(self, log):
        with tempfile.TemporaryDirectory() as build:
            os.makedirs(os.path.join(build, "Testing/Temporary"))
            with open(os.path.join(build, "Testing/Temporary/LastTest.log"), "w", encoding="utf-8") as f:
                f.write(log)
            done = subprocess.run([sys.executable, os.path.join(ROOT, "tools/skips.py"), build],
                                  capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def test_what_is_not_allowed_is_named(self):
        self.assertEqual(self.skips(LOG), (1, "os:AppendFile.Links: gives links away\n"
                                              "system:hosts: needs root\n"
                                              "system:users __main__.Users.test_mounts: no mount namespaces here\n"
                                              "3 tests were skipped for reasons that allowed_skips.txt does not allow\n"))

    def test_what_is_allowed(self):
        self.assertEqual(self.skips("skipped: no munged\n" + LOG[:LOG.index("4/9")]), (0, ""))

    def test_the_harness_tells_its_skips(self):
        class Skipped(unittest.TestCase):
            def test(self):
                self.skipTest("why not")
        read, write = os.pipe()
        with os.fdopen(read, encoding="utf-8") as out:
            kept = os.dup(1)
            os.dup2(write, 1)
            try:
                Skipped("test").run(unittest.TestResult())
            finally:
                os.dup2(kept, 1)
                os.close(write)
                os.close(kept)
            self.assertRegex(out.read(), r"^skipped: \S+\.Skipped\.test: why not\n$")


if __name__ == "__main__":
    unittest.main()
