"""MNIST with a parameter server strategy: the chief schedules steps on workers, variables live on parameter servers.

Asynchronous: each worker takes the next step as soon as it is free. A worker that dies is handed no more steps until
it is back; the chief resumes from its checkpoint when it, or a parameter server, was started again.
"""

import keras
import tensorflow as tf

import shoal.tf

import classifier
import digits
import options


def main() -> None:
    chosen = options.parse(__doc__.splitlines()[0])
    shoal.tf.serve()  # parameter servers and workers stay in here

    (images, labels), held_out = digits.load()
    strategy = shoal.tf.strategy()
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        model = classifier.keras_model(keras)
        optimizer = keras.optimizers.SGD(chosen.learning_rate)
        optimizer.build(model.trainable_variables)
    checkpoints = shoal.tf.Checkpoints(chosen.folder / "checkpoints", model=model, optimizer=optimizer)
    step = checkpoints.restore()

    def dataset():
        """Each worker's own endless, shuffled digits."""
        data = tf.data.Dataset.from_tensor_slices((images, labels))
        return data.shuffle(len(images)).repeat().batch(chosen.batch_size)

    @tf.function
    def train_step(iterator):
        def replica_step(images, labels):
            with tf.GradientTape() as tape:
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, model(images, training=True))
                loss = tf.reduce_mean(losses)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            return loss

        return strategy.run(replica_step, args=next(iterator))

    iterator = iter(coordinator.create_per_worker_dataset(dataset))
    steps = len(images) // chosen.batch_size
    while step < chosen.epochs * steps:
        losses = [coordinator.schedule(train_step, args=(iterator,)) for _ in range(steps)]
        coordinator.join()
        step += steps
        shoal.tf.report(step, sum(loss.fetch() for loss in losses) / steps)
        checkpoints.save(step)

    shoal.tf.report(step, accuracy=classifier.accuracy(model, *held_out))
    classifier.export(model, chosen.folder)


if __name__ == "__main__":
    main()
