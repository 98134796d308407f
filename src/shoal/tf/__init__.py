"""A small library for training scripts: strategy, lifecycle, checkpoints, progress. Scripts work without it too."""
