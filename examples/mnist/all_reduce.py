"""MNIST with all-reduce: every worker holds the whole model, and gradients are summed after each step.

Synchronous, with a loop of one's own around a Keras 3 model. If a worker dies the others cannot go on; the group is
started again and resumes at the epoch whose checkpoint was written last.
"""

import keras
import tensorflow as tf

import shoal.tf

import classifier
import digits
import options


def main() -> None:
    chosen = options.parse(__doc__.splitlines()[0])
    strategy = shoal.tf.strategy()
    cluster = shoal.tf.Cluster.from_environment()
    (images, labels), held_out = digits.load()

    with strategy.scope():
        model = classifier.keras_model(keras)
        optimizer = keras.optimizers.SGD(chosen.learning_rate)
        optimizer.build(model.trainable_variables)
    checkpoints = shoal.tf.Checkpoints(chosen.folder / "checkpoints", model=model, optimizer=optimizer)

    @tf.function
    def train_step(images, labels):
        def replica_step(images, labels):
            with tf.GradientTape() as tape:
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, model(images, training=True))
                # Gradients are summed over the replicas: each takes its part of the mean over the global batch.
                loss = tf.nn.compute_average_loss(losses, global_batch_size=chosen.batch_size * cluster.trainers)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            return loss

        per_replica = strategy.run(replica_step, args=(images, labels))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica, axis=None)

    steps = len(images) // chosen.batch_size // cluster.trainers
    first = checkpoints.restore() // steps
    for epoch in range(first, chosen.epochs):
        mine = digits.batches(images, labels, chosen.batch_size, epoch, cluster.rank, cluster.trainers)
        for step, batch in enumerate(mine, epoch * steps + 1):
            loss = train_step(*batch)
            if cluster.is_leader:
                shoal.tf.report(step, loss)
        checkpoints.save((epoch + 1) * steps)

    shoal.tf.report(chosen.epochs * steps, accuracy=classifier.accuracy(model, *held_out))
    classifier.export(model, chosen.folder)


if __name__ == "__main__":
    main()
