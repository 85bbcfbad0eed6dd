"""Who judges what waits in the store: lanes, each a process with one device, and what keeps them alive."""
