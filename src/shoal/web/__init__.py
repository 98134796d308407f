"""The dashboard: jobs, their logs and curves, and model servers in a browser.

Pages are made on the server and work without a script; a few kB of script keep them up to date. Everything that is
shown comes through `shoal.runs`, so that runs of this machine and of a cluster are alike.
"""
