"""MNIST with an evaluator: whatever trains, one more process measures each checkpoint on held-out digits.

The job has succeeded when the last checkpoint was evaluated.
"""

import keras
import tensorflow as tf

import shoal.tf

import classifier
import digits
import options
import parameter_server


def main() -> None:
    if shoal.tf.Cluster.from_environment().role != "evaluator":
        parameter_server.main()
        return
    chosen = options.parse(__doc__.splitlines()[0])
    _, held_out = digits.load()
    model = classifier.keras_model(keras)
    curve = tf.summary.create_file_writer(str(chosen.folder / "evaluation"))
    for step in shoal.tf.follow(chosen.folder / "checkpoints", model=model):
        accuracy = classifier.accuracy(model, *held_out)
        shoal.tf.report(step, accuracy=accuracy)
        with curve.as_default(step):
            tf.summary.scalar("accuracy", accuracy)
        curve.flush()


if __name__ == "__main__":
    main()
