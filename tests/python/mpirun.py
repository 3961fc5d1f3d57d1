"""Starts the program under mpirun, as many processes as a test wants, whoever runs the tests and however few cores there are."""
import os
import shutil
import subprocess

import pytest
from conftest import PROGRAM

MPIRUN = shutil.which("mpirun")
LIBRARY = PROGRAM.resolve().parents[1] / "lib/libdeepvoro_cluster.so"
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    # Without the warnings of containers.
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_orte_base_help_aggregate": "1",
}


def skip_without_mpi():
    if MPIRUN is None or not LIBRARY.is_file():
        pytest.skip("no MPI: apt-get install libopenmpi-dev openmpi-bin, then build again", allow_module_level=True)


def start(ranks, *arguments):
    """A running mpirun of the program, in a session of its own."""
    return subprocess.Popen(
        [MPIRUN, "-n", str(ranks), PROGRAM.resolve(), *map(str, arguments)],
        env={**os.environ, **ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )


def run(ranks, *arguments):
    process = start(ranks, *arguments)
    stdout, stderr = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)
