"""`shoal bench serve`: a load generator for model servers, or whatever answers the same request over and over.

`schedule` says when requests are due, `http1` and `http2` are connections that carry them, `engine` is the loop of one
process over its connections, `tally` what it counts, `histogram` how latencies are kept; `processes` runs several
engines at once, and `result` is what they found together. Nothing here knows models: a request is bytes.
"""
