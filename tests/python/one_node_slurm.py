"""A Slurm of this machine alone, with daemons, state and ports of its own, for as long as a test takes."""
import os
import secrets
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager

DAEMONS = ("munged", "slurmctld", "slurmd")
# More than one task at a time, whatever the machine has: the node is told to believe it.
CONFIGURATION = """
ClusterName=deepvoro
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
SchedulerParameters=sched_interval=1
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def why_not():
    """Why there can be no Slurm here; nothing where there can."""
    missing = [name for name in DAEMONS if shutil.which(name) is None]
    if missing:
        return f"no {', '.join(missing)}: apt-get install munge slurmctld slurmd slurm-client"
    return None if os.geteuid() == 0 else "slurmd must be started by root"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class OneNodeSlurm:
    def __init__(self, folder):
        self.folder = folder
        self.host = socket.gethostname().split(".")[0]
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        self.daemons = []

    def configure(self):
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        (self.folder / "munge.key").write_bytes(secrets.token_bytes(64))
        (self.folder / "munge.key").chmod(0o400)
        (self.folder / "slurm.conf").write_text(
            CONFIGURATION.format(
                folder=self.folder, host=self.host, user="root", controller_port=free_port(), node_port=free_port()
            )
        )

    def start(self, name, *arguments):
        log = (self.folder / f"{name}.log").open("wb")
        command = [shutil.which(name), *map(str, arguments)]
        self.daemons.append(subprocess.Popen(command, env=self.environment, stdout=log, stderr=log))

    def run(self, *command, env=None):
        """What a command of Slurm prints."""
        process = subprocess.run(
            [*map(str, command)], env={**self.environment, **(env or {})}, capture_output=True, encoding="utf-8"
        )
        assert process.returncode == 0, process.stderr + self.logs()
        return process.stdout.strip()

    def logs(self):
        return "".join(log.read_text(errors="replace")[-2000:] for log in sorted(self.folder.glob("*.log")))

    def wait_until(self, is_so, seconds):
        end = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < end, self.logs()
            time.sleep(0.2)

    def is_idle(self):
        process = subprocess.run(["sinfo", "-h", "-o", "%T"], env=self.environment, capture_output=True, encoding="utf-8")
        return process.stdout.strip() == "idle"

    def wait_for_jobs(self, seconds=300):
        self.wait_until(lambda: self.run("squeue", "-h") == "", seconds)


@contextmanager
def one_node_slurm(folder):
    slurm = OneNodeSlurm(folder)
    slurm.configure()
    try:
        files = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munge.pid", "log-file": "munge.log", "seed-file": "munge.seed"}
        slurm.start("munged", "--foreground", "--force", *(f"--{flag}={folder / name}" for flag, name in files.items()))
        slurm.wait_until((folder / "munge.socket").exists, 30)
        slurm.start("slurmctld", "-D", "-i")
        slurm.start("slurmd", "-D", "-N", slurm.host)
        slurm.wait_until(slurm.is_idle, 60)
        yield slurm
    finally:
        for daemon in reversed(slurm.daemons):
            daemon.terminate()
            daemon.wait()
