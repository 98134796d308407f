"""MNIST with `Model.fit` over several workers: tf_keras, since Keras 3 does not fit under such a strategy.

A callback saves each epoch; a group that had to be started again goes on from there.
"""

import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import tensorflow as tf
import tf_keras

import shoal.tf

import classifier
import digits
import options


def main() -> None:
    chosen = options.parse(__doc__.splitlines()[0])
    shoal.tf.serve()
    strategy = shoal.tf.strategy()
    cluster = shoal.tf.Cluster.from_environment()
    (images, labels), held_out = digits.load()
    batch = chosen.batch_size * cluster.trainers

    with strategy.scope():
        model = classifier.keras_model(tf_keras)
        model.compile(
            optimizer=tf_keras.optimizers.SGD(chosen.learning_rate),
            loss=tf_keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )

    data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(len(images)).repeat().batch(batch)
    data = data.with_options(_split_by_data())
    model.fit(
        data,
        epochs=chosen.epochs,
        steps_per_epoch=len(images) // batch,
        callbacks=shoal.tf.fit_callbacks(tf_keras, chosen.folder / "backup"),
        verbose=2,
    )

    shoal.tf.report(chosen.epochs * (len(images) // batch), accuracy=classifier.accuracy(model, *held_out))
    classifier.export(model, chosen.folder)


def _split_by_data() -> tf.data.Options:
    """Each worker reads every digit, and takes its share of each batch."""
    split = tf.data.Options()
    split.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return split


if __name__ == "__main__":
    main()
