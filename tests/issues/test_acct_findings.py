"""What random command lines of accounting did otherwise than in Slurm."""
import unittest

from accounting import AccountedCluster
from harness import ClusterCase, wait_for


class AccountingFindings(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = AccountedCluster(1)

    def test_acct_is_account(self):
        """It was known as a condition alone."""
        self.assertIn("lab", self.out("sacctmgr", "-i", "add", "acct", "lab"))
        self.assertIn("A = lab", self.out("sacctmgr", "-i", "add", "user", "root", "acct=lab"))
        self.assertIn("A = lab", self.out("sacctmgr", "-i", "modify", "acct", "lab", "set", "grpjobs=7"))
        self.assertEqual(self.out("sacctmgr", "-nP", "list", "acct", "lab", "format=acct"), "lab\n")
        self.assertEqual(self.out("sacctmgr", "-nP", "list", "assoc", "acct=lab", "user=root", "format=acct,user"), "lab|root\n")
        self.assertIn("lab", self.out("sacctmgr", "-i", "add", "coordinator", "acct=lab", "names=root"))
        self.assertIn("A = lab", self.out("sacctmgr", "-i", "delete", "user", "root", "acct=lab"))
        self.assertIn("lab", self.out("sacctmgr", "-i", "delete", "acct", "lab"))

    def test_a_width_that_is_none(self):
        """The column was empty, or had its own width in place of the number that the text begins with."""
        shown = self.out("sacctmgr", "-n", "list", "user", "root", "format=user%0,admin%,defaultaccount%3x")
        self.assertEqual(shown, "      root Administ+ ro+ \n")

    def test_the_largest_number_is_no_limit(self):
        """It was a limit of two less."""
        for value in ("7", "4294967295"):
            self.run_cmd("sacctmgr", "-i", "modify", "account", "root", "set", f"grpjobs={value}", f"grpsubmit={value}")
        self.assertEqual(self.out("sacctmgr", "-nP", "list", "assoc", "account=root", "user=", "format=grpjobs,grpsubmit"), "|\n")

    def test_coordinators_behind_associations(self):
        """They stood before them."""
        head = self.out("sacctmgr", "-P", "list", "account", "withassoc", "withcoord").splitlines()[0].split("|")
        self.assertEqual(head[2:4] + head[-2:], ["Org", "Cluster", "Def QOS", "Coord Accounts"])

    def test_times_to_come(self):
        """A span that begins after now was refused whatever its end."""
        job = self.submit("-H", "-o", "/dev/null", "--wrap", "true")
        self.addCleanup(self.run_cmd, "scancel", str(job))
        for span in (("-S", "now+1hour", "-E", "now+3hours"), ("-S", "tomorrow", "-E", "tomorrow")):
            shown = wait_for(lambda span=span: self.cluster.sacct("-X", "-T", "-j", str(job), *span, "-o", "state"), "sacct has it")
            self.assertEqual(shown, [["PENDING"]])
        self.run_cmd("sacct", "-S", "tomorrow", "-s", "PD")
        for span in (("-S", "tomorrow"), ("-S", "tomorrow", "-j", "1"), ("-S", "now+2hours", "-E", "now+1hour")):
            self.assertIn("is after end time", self.run_cmd("sacct", *span, check=False).stderr)

    def test_reports_of_jobs_in_short(self):
        """Six letters were no report, and seven that of wckeys."""
        for word, title in (("s", "Job Sizes "), ("sizesby", "Job Sizes "), ("sizesbyaccounta", "Job Sizes "),
                            ("sizesbyw", "Job Sizes by Wckey ")):
            self.assertIn(f"\n{title}20", self.out("sreport", "job", word))


if __name__ == "__main__":
    unittest.main()
