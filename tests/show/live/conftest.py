"""A scheduler in this process, whose page the tests look at."""

import pytest
from distributed import Client, LocalCluster


@pytest.fixture(scope="module")
def client():
    # threads: the runs are not what is tested here
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            protocol="tcp",
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address=None,
        ) as cluster,
        Client(cluster, set_as_default=False) as connected,
    ):
        yield connected
