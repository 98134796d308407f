"""Code on its way to replicas: a folder packed into an archive, a Git revision resolved and fetched, an image built.

`unpack` and `receive` are programs for pods. They stand in the command of a container, run under its image's Python,
and import nothing of Shoal.
"""
