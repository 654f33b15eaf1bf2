"""Jobs on a cluster: what the store keeps of them, and the driver that runs there."""
