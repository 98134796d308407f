"""The server of a lease: it lets clients with the lease's token in, and has a process of its own for each."""
