"""MNIST in TensorFlow 1's way, in-graph: one client builds a graph over all machines, and the others only serve.

The chief is that client. Each worker computes the gradients of its share of the batch; the variables, which live on
the ps, get their mean.
"""

import sys

import tensorflow as tf

import shoal.tf

import between_graph
import digits
import options

v1 = tf.compat.v1


def main() -> None:
    chosen = options.parse(__doc__.splitlines()[0])
    shoal.tf.serve()  # everybody but the chief stays in here
    cluster = shoal.tf.Cluster.from_environment()
    (images, labels), held_out = digits.load()
    with tf.Graph().as_default():
        train(chosen, cluster, images, labels)
    between_graph.finish(chosen.folder, *held_out)


def train(chosen, cluster, images, labels) -> None:
    workers = len(cluster.tasks["worker"])
    pixels = v1.placeholder(tf.float32, [None, 784])
    classes = v1.placeholder(tf.int64, [None])
    with tf.device("/job:ps/task:0"):
        step = v1.train.get_or_create_global_step()
        values = between_graph.variables()
    optimizer = v1.train.GradientDescentOptimizer(chosen.learning_rate)
    losses, gradients = [], []
    shares = zip(tf.split(pixels, workers), tf.split(classes, workers))
    for worker, (share, truth) in enumerate(shares):
        with tf.device(f"/job:worker/task:{worker}"):
            logits = between_graph.classify(share, values)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(truth, logits))
            losses.append(loss)
            gradients.append(tf.gradients(loss, list(values.values())))
    with tf.device("/job:ps/task:0"):
        means = [tf.add_n(each) / workers for each in zip(*gradients)]
        train_step = optimizer.apply_gradients(zip(means, values.values()), global_step=step)
        loss = tf.add_n(losses) / workers

    target = f"grpc://{cluster.tasks['ps'][0]}"
    hooks = [v1.train.StopAtStepHook(last_step=chosen.epochs * (len(images) // (chosen.batch_size * workers)))]
    with v1.train.MonitoredTrainingSession(
        master=target,
        checkpoint_dir=str(chosen.folder / "checkpoints"),
        hooks=hooks,
        save_checkpoint_steps=50,
        save_summaries_steps=None,
        save_summaries_secs=None,
        log_step_count_steps=None,
        config=shoal.tf.session_config(),
    ) as session:
        batches = between_graph.batches_of(images, labels, chosen.batch_size * workers, seed=0)
        while not session.should_stop():
            batch = next(batches)
            feed = {pixels: batch[0], classes: batch[1]}
            _, now, lost = session.run([train_step, step, loss], feed)
            shoal.tf.report(now, lost)


if __name__ == "__main__":
    sys.exit(main())
