"""MNIST in TensorFlow 1's way, between-graph: each worker builds its own graph and shares variables on the ps.

Asynchronous, each worker's gradients are applied as they come; with --sync, those of all workers together. Nothing
here needs Shoal's library but the server and its filters; progress is read from the event files that the session
writes. A worker that is started again joins the others; a chief goes on from its checkpoint.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

import shoal.tf

import classifier
import digits

v1 = tf.compat.v1

SHAPES = {"hidden/kernel": [784, 64], "hidden/bias": [64], "logits/kernel": [64, 10], "logits/bias": [10]}
"""The classifier's variables: one hidden layer of 64."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="checkpoints and the model go here")
    parser.add_argument("--steps", type=int, default=600, help="steps of all workers together")
    parser.add_argument("--batch-size", type=int, default=50)
    parser.add_argument("--learning-rate", type=float, default=0.2)
    parser.add_argument("--sync", action="store_true", help="apply the gradients of all workers together")
    chosen = parser.parse_args()
    shoal.tf.serve()  # parameter servers stay in here

    cluster = shoal.tf.Cluster.from_environment()
    server = shoal.tf.server()
    (images, labels), held_out = digits.load()
    with tf.Graph().as_default():
        train(chosen, cluster, server, images, labels)
    if cluster.is_leader:
        finish(chosen.folder, *held_out)


def train(chosen, cluster, server, images, labels) -> None:
    """Take steps until all workers together have taken enough."""
    pixels = v1.placeholder(tf.float32, [None, 784])
    classes = v1.placeholder(tf.int64, [None])
    here = f"/job:{cluster.role}/task:{cluster.index}"
    with v1.device(v1.train.replica_device_setter(ps_tasks=len(cluster.tasks["ps"]), worker_device=here)):
        step = v1.train.get_or_create_global_step()
        logits = classify(pixels, variables())
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(classes, logits))
        optimizer = v1.train.GradientDescentOptimizer(chosen.learning_rate)
        hooks = [v1.train.StopAtStepHook(last_step=chosen.steps)]
        if chosen.sync:
            optimizer = v1.train.SyncReplicasOptimizer(optimizer, cluster.trainers, cluster.trainers)
        train_step = optimizer.minimize(loss, global_step=step)
        if chosen.sync:
            hooks.append(optimizer.make_session_run_hook(cluster.is_leader))
        v1.summary.scalar("loss", loss)

    endless = batches_of(images, labels, chosen.batch_size, seed=cluster.rank)
    with v1.train.MonitoredTrainingSession(
        master=server.target,
        is_chief=cluster.is_leader,
        checkpoint_dir=str(chosen.folder / "checkpoints"),
        hooks=hooks,
        save_checkpoint_steps=100,
        save_summaries_steps=20,
        log_step_count_steps=None,
        max_wait_secs=120,
        stop_grace_period_secs=2,  # the chief's thread that collects the others' gradients waits for ever
        config=shoal.tf.session_config(),
    ) as session:
        while not session.should_stop():
            batch = next(endless)
            session.run(train_step, {pixels: batch[0], classes: batch[1]})
    print(f"{cluster.role} {cluster.index} is done", flush=True)


def variables() -> dict[str, v1.Variable]:
    return {name: v1.get_variable(name, shape) for name, shape in SHAPES.items()}


def classify(pixels, values):
    """Logits [n, 10] of images [n, 784]."""
    hidden = tf.nn.relu(pixels @ values["hidden/kernel"] + values["hidden/bias"])
    return hidden @ values["logits/kernel"] + values["logits/bias"]


def batches_of(images, labels, size, seed):
    random = np.random.default_rng(seed)
    while True:
        chosen = random.integers(len(images), size=size)
        yield images[chosen], labels[chosen]


def finish(folder: Path, images, labels) -> None:
    """Measure the last checkpoint on held-out digits, and export it."""
    reader = tf.train.load_checkpoint(str(folder / "checkpoints"))
    model = Trained(reader)
    shoal.tf.report(reader.get_tensor("global_step"), accuracy=classifier.accuracy(model, images, labels))
    classifier.export(model, folder)


class Trained(tf.Module):
    """The classifier with the values of a checkpoint."""

    def __init__(self, reader) -> None:
        super().__init__()
        self.values = {name: tf.Variable(reader.get_tensor(name)) for name in SHAPES}

    def __call__(self, images):
        return classify(images, self.values)


if __name__ == "__main__":
    sys.exit(main())
