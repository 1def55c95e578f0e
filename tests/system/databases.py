"""Real database servers for tests, each in a folder of its own: `with Server("mariadb") as server`.

They listen on a Unix socket alone, unless a port is asked for, and are run by a user without privileges: neither server
is to run as root. A copy of a server that was set up once is what others start from.
"""
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

KINDS = ("mariadb", "postgresql")
STORAGE_TYPE = {"sqlite": "sqlite", "mariadb": "mysql", "postgresql": "postgresql"}
NAME, USER, PASSWORD = "slurm_acct_db", "slurm", "it's; a \\ secret =word\\"


def programs(kind):
    """The folder of the server's programs; None where it is not installed."""
    if kind == "mariadb":
        path = shutil.which("mariadbd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin")
        return os.path.dirname(path) if path and shutil.which("mariadb-install-db") else None
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda p: int(p.split("/")[4].split(".")[0]))
    return next((p for p in reversed(found) if os.path.exists(p + "/initdb")), None)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """One server with the database NAME of USER. `folder`: of the server's socket."""

    def __init__(self, kind, port=0):
        self.kind, self.port = kind, port
        self.separator = "\t" if kind == "mariadb" else "|"  # of what sql() answers
        self.bin = programs(kind)
        self.folder = tempfile.mkdtemp(prefix=f"sluice-{kind}-")
        os.chmod(self.folder, 0o755)
        self.data = os.path.join(self.folder, "data")
        self.log = os.path.join(self.folder, "server.log")
        self.owner = pwd.getpwnam("nobody") if os.getuid() == 0 else None
        if self.owner:
            os.chown(self.folder, self.owner.pw_uid, self.owner.pw_gid)
        self.process = None
        self._set_up()
        self.start()
        self._make_database()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def host(self):
        """What StorageHost says."""
        if self.port:
            return "127.0.0.1"
        return self.folder if self.kind == "postgresql" else os.path.join(self.folder, "socket")

    def conf(self, password=PASSWORD):
        """Lines of slurmdbd.conf. PASSWORD has all that a line can hold."""
        lines = [f"StorageType=accounting_storage/{STORAGE_TYPE[self.kind]}", f"StorageHost={self.host}", f"StorageLoc={NAME}",
                 f"StorageUser={USER}", f'StoragePass="{password}"']
        if self.port:
            lines.append(f"StoragePort={self.port}")
        return "\n".join(lines) + "\n"

    def _popen(self, command, **options):
        if self.owner:
            options.update(user=self.owner.pw_uid, group=self.owner.pw_gid, extra_groups=[])
        # two that are set up at once take each other's files away in a common folder
        env = {"PATH": os.environ.get("PATH", ""), "HOME": self.folder, "TMPDIR": self.folder, "LC_ALL": "C"}
        return subprocess.Popen(command, cwd=self.folder, env=env, **options)

    def _run(self, command, text=""):
        process = self._popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = process.communicate(text)[0]
        if process.returncode:
            raise RuntimeError(f"{command[0]}: {said}")
        return said

    def _set_up(self):
        if self.kind == "mariadb":
            self._run([shutil.which("mariadb-install-db"), "--no-defaults", f"--datadir={self.data}", "--auth-root-authentication-method=normal",
                       "--skip-test-db", "--innodb-log-file-size=8M", "--innodb-flush-method=nosync", "--innodb-data-file-path=ibdata1:4M:autoextend"])
        else:
            self._run([self.bin + "/initdb", "-D", self.data, "-U", "root", "-A", "trust", "-E", "UTF8", "--no-sync", "--no-instructions",
                       "--locale=C.UTF-8"])
            with open(self.data + "/pg_hba.conf", "w", encoding="utf-8") as f:
                f.write("local all root trust\nlocal all all scram-sha-256\nhost all all 127.0.0.1/32 scram-sha-256\n")

    def start(self):
        if self.kind == "mariadb":
            command = [self.bin + "/mariadbd", "--no-defaults", f"--datadir={self.data}", f"--socket={self.folder}/socket", "--skip-name-resolve",
                       "--innodb-buffer-pool-size=32M", "--innodb-flush-method=nosync", "--pid-file=" + self.folder + "/pid",
                       "--plugin-dir=/usr/lib/mysql/plugin", "--innodb-log-file-size=8M", "--performance-schema=OFF"]
            command += [f"--port={self.port}", "--bind-address=127.0.0.1"] if self.port else ["--skip-networking"]
        else:
            command = [self.bin + "/postgres", "-D", self.data, "-k", self.folder, "-c", "shared_buffers=32MB", "-c", "max_connections=40", "-c", "fsync=off",
                       "-c", "listen_addresses=" + ("127.0.0.1" if self.port else ""), "-p", str(self.port or 5432)]
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = self._popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        end = time.monotonic() + 60
        while True:
            try:
                self.sql("SELECT 1", database="")
                return
            except RuntimeError:
                if time.monotonic() > end or self.process.poll() is not None:
                    with open(self.log, encoding="utf-8", errors="replace") as f:
                        raise RuntimeError(f"{self.kind} does not start: {f.read()}")
                time.sleep(0.05)

    def sql(self, text, database=NAME):
        """As the server's administrator; what it answers, a line a row."""
        if self.kind == "mariadb":
            return self._run(["mariadb", "--no-defaults", "--init-command=SET sql_mode='ANSI_QUOTES'", "--socket=" + self.folder + "/socket", "-u", "root", "-N", "-B", database], text)
        return self._run([self.bin + "/psql", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-p", str(self.port or 5432), "-U", "root",
                          database or "postgres"], text)

    def _make_database(self):
        word = PASSWORD.replace("'", "''")
        if self.kind == "mariadb":
            word = word.replace("\\", "\\\\")
            self.sql(f"CREATE DATABASE {NAME}; CREATE USER {USER}@'%' IDENTIFIED BY '{word}'; CREATE USER {USER}@localhost IDENTIFIED BY '{word}'; "
                     f"GRANT ALL ON {NAME}.* TO {USER}@'%'; GRANT ALL ON {NAME}.* TO {USER}@localhost", "")
        else:
            self.sql(f"CREATE ROLE {USER} LOGIN PASSWORD '{word}'", "")
            self.sql(f"CREATE DATABASE {NAME} OWNER {USER}", "")

    def empty(self):
        """The database as it was made."""
        if self.kind == "mariadb":
            self.sql(f"DROP DATABASE {NAME}; CREATE DATABASE {NAME}", "")
        else:
            self.sql(f"DROP DATABASE {NAME} WITH (FORCE)", "")
            self.sql(f"CREATE DATABASE {NAME} OWNER {USER}", "")

    def stop(self, how=signal.SIGTERM):
        """SIGKILL of a PostgreSQL is a crash of all of its processes."""
        if self.process is None:
            return
        if self.kind == "postgresql" and how == signal.SIGTERM:
            how = signal.SIGINT  # without waiting for clients
        os.kill(self.process.pid, how)
        self.process.wait()
        self.process = None

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    """Runs a program with a server of each kind: databases.py PROGRAM ARGUMENTS."""
    servers = [Server(kind) for kind in KINDS if programs(kind)]
    env = dict(os.environ)
    try:
        for server in servers:
            path = os.path.join(server.folder, "storage.conf")
            with open(path, "w", encoding="utf-8") as f:
                f.write("DbdHost=localhost\n" + server.conf())
            env["SLUICE_TEST_" + server.kind.upper()] = path
        return subprocess.run(sys.argv[1:], env=env, check=False).returncode
    finally:
        for server in servers:
            server.close()


if __name__ == "__main__":
    sys.exit(main())
