"""PostgreSQL from the system's packages, with a folder and a port of its own."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness.gateway import free_port


def programs() -> Path | None:
    """The newest there is."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda it: int(it.parts[-3]))
    return found[-1].parent if found else None


class Postgres:
    """Runs until `stop`. Root gives it away, since PostgreSQL refuses to be root."""

    def __init__(self):
        self.bin = programs()
        assert self.bin, "PostgreSQL is not installed"
        self.folder = Path(tempfile.mkdtemp(prefix="tollgate-postgres-"))
        self.user = None
        if os.geteuid() == 0:
            self.user = pwd.getpwnam("postgres")
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        self.data, self.port = self.folder / "data", free_port()
        self._run("initdb", "-D", self.data, "-U", "admin", "-A", "trust", "-E", "UTF8", "--no-sync")
        settings = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        self._run("pg_ctl", "-D", self.data, "-w", "-o", settings, "-l", self.folder / "log", "start")
        self._run("createdb", "-h", "127.0.0.1", "-p", self.port, "-U", "admin", "memory")
        self.url = f"postgres://admin@127.0.0.1:{self.port}/memory"

    def _run(self, program: str, *arguments) -> None:
        command = [str(self.bin / program), *map(str, arguments)]
        who = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}
        # A server that stays must not hold our pipes.
        with open(self.folder / f"{program}.out", "w+") as said:
            done = subprocess.run(command, stdout=said, stderr=said, cwd=self.folder, timeout=120, **who)
            said.seek(0)
            assert done.returncode == 0, f"{program}: {said.read()}"

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self.data, "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)
