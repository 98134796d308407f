"""The CUDA wire: the driver API as data, the server of a lease, and the software GPU for machines without another."""
