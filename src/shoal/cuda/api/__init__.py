"""The CUDA driver API as data: what there is, how each function is answered, and what travels for it.

One description makes the C client's calls, the numbers and layouts of messages, the server's dispatch and the page
that tells what is covered: `python -m shoal.cuda.api` writes what is kept of it in files.
"""
