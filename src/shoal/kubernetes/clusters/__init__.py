"""Several clusters as one place: where a job has room, and runs that are looked for in all of them."""
