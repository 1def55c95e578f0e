"""What accounting does on MariaDB and PostgreSQL: the tests of history, administration and reports, each on both."""
import unittest

import test_accounting
import test_sacctmgr
import test_sreport
from databases import KINDS, Server, programs
from harness import need_root

SERVERS = {}


def setUpModule():
    for kind in KINDS:
        if programs(kind):
            SERVERS[kind] = Server(kind)


def tearDownModule():
    for server in SERVERS.values():
        server.close()


class OnServer:
    """Before a class of tests: the same with a database on the server KIND."""

    KIND = ""

    @classmethod
    def setUpClass(cls):
        if cls.KIND not in SERVERS:
            raise unittest.SkipTest(f"no {cls.KIND}")
        cls.server = SERVERS[cls.KIND]
        super().setUpClass()


def on_both(case, tests=None):
    """Classes of this module: `case` on each server, or those `tests` of it."""
    for kind in KINDS:
        name = f"{case.__name__}On{kind.title()}"
        body = {"KIND": kind, "__module__": __name__}
        if tests:
            body.update({test: None for test in dir(case) if test.startswith("test") and test not in tests})
        globals()[name] = type(name, (OnServer, case), body)


on_both(test_accounting.History, ("test_values_of_a_job_and_its_steps", "test_arrays", "test_requeued_runs", "test_states_and_times",
                                  "test_hostile_texts", "test_script_and_environment"))
on_both(test_accounting.Away)
on_both(test_sacctmgr.Changes, ("test_what_is_added_is_listed_changed_and_deleted", "test_hostile_texts_change_nothing_else", "test_dump_and_load",
                                "test_two_administrators_at_once", "test_what_jobs_use_stays"))
on_both(test_sreport.Reports)


if __name__ == "__main__":
    need_root()
    unittest.main()
