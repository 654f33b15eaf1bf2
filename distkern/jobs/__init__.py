"""Jobs on a cluster: their files in a store, and the driver that runs there."""
