"""The options that all of these scripts take."""

from __future__ import annotations

import argparse
from pathlib import Path


def parse(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="checkpoints and the model go here")
    parser.add_argument("--epochs", type=int, default=10, help="how often to go through the 4,500 digits")
    parser.add_argument("--batch-size", type=int, default=50, help="digits that one trainer takes in a step")
    parser.add_argument("--learning-rate", type=float, default=0.2)
    return parser.parse_args()
