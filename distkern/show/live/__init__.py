"""The live page ``/distkern`` on the dashboard of Dask's scheduler."""
