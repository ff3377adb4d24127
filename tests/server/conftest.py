"""Databases for the tests: SQLite files, and a PostgreSQL cluster of our own."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
import sqlalchemy as sa

from mdrr.server.store import Store
from tests.server.cases import free_port


def postgres_folder() -> Path | None:
    """Where PostgreSQL's programs are, if they are installed."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name))
    return versions[-1] if versions else None


class Cluster:
    """A PostgreSQL server in a temporary folder, run by somebody who is not root."""

    def __init__(self, programs: Path) -> None:
        self.programs, self.port = programs, free_port()
        self.user = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        self.folder = Path(tempfile.mkdtemp(prefix="mdrr-pg-"))
        if os.geteuid() == 0:
            self.folder.chmod(0o755)
            owner = pwd.getpwnam(self.user)
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        self.data = self.folder / "data"
        self.run("initdb", "-D", self.data, "-U", "mdrr", "-A", "trust", "-E", "UTF8", "--no-sync")
        self.start()

    def run(self, program: str, *arguments: object) -> str:
        command = [str(self.programs / program), *map(str, arguments)]
        done = subprocess.run(
            command,
            user=self.user if os.geteuid() == 0 else None,
            cwd=self.folder,
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def start(self) -> None:
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1"
        log = self.folder / "log"
        self.run("pg_ctl", "-D", self.data, "-o", options, "-l", log, "-w", "start")

    def stop(self, mode: str = "immediate") -> None:
        self.run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")

    def url(self, name: str = "postgres") -> str:
        return f"postgresql://mdrr@127.0.0.1:{self.port}/{name}"

    def new_database(self) -> str:
        name = f"d{os.urandom(6).hex()}"
        self.run("createdb", "-h", "127.0.0.1", "-p", self.port, "-U", "mdrr", name)
        return self.url(name)


@pytest.fixture(scope="session")
def cluster():
    programs = postgres_folder()
    if programs is None:
        if os.environ.get("CI") == "true":
            pytest.fail("PostgreSQL is not installed; scripts/system installs it")
        pytest.skip("PostgreSQL is not installed")
    made = Cluster(programs)
    yield made
    made.stop()
    shutil.rmtree(made.folder)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """An empty database of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/answers.db"
    return request.getfixturevalue("cluster").new_database()


@pytest.fixture
def store(url):
    made = Store(url)
    yield made
    made.dispose()


@pytest.fixture
def sqlite_store(tmp_path):
    made = Store(f"sqlite:///{tmp_path}/answers.db")
    yield made
    made.dispose()


def rows(store: Store, table: str) -> int:
    with store.engine.connect() as connection:
        return int(connection.execute(sa.text(f"SELECT count(*) FROM {table}")).scalar_one())
