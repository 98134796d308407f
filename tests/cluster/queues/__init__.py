"""Jobs in the queues of Kueue, which is built from source: `make test-kueue`."""
