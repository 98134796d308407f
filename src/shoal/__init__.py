"""Shoal trains and serves TensorFlow models on Kubernetes, or on one machine from the same manifest.

The package's rooms, from the bottom up: `resources` (what users write), `training` and `pool` (pure decisions),
`local` and `kubernetes` (backends that carry decisions out), `serving` (the model server), `cli`. `tf` is the small
library a training script may import; it stands alone.
"""

__version__ = "0.1.0"
