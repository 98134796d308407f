"""One process of a training benchmark: builds the model, takes the steps, and times them.

Alone, or as the replica that TF_CONFIG says it is. Each step is waited for before the next one begins, as
tf_cnn_benchmarks does. Where a chief drives workers, it hands out as many steps as it displays, and waits for all of
them.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

import shoal.tf
from shoal.bench.data import dataset
from shoal.bench.job import STRATEGIES
from shoal.bench.models import build, input_shape
from shoal.bench.options import (
    DataFormat,
    DataName,
    Device,
    Optimizer,
    OptionError,
    TrainOptions,
    VariableUpdate,
    check_roles,
)
from shoal.bench.record import Part
from shoal.bench.timing import speed
from shoal.tf import protocol

Tell = Callable[[str], None]

Take = Callable[[int], float]
"""Takes so many steps, waits for them, and answers the loss of the last."""


def train(options: TrainOptions, tell: Tell) -> Part:
    """Run this process's part of the benchmark, and `tell` lines as users of tf_cnn_benchmarks know them.

    A parameter server, or a worker that a chief drives, never returns. Raises OptionError for what cannot be had here.
    """
    cluster = shoal.tf.Cluster.from_environment()
    if cluster.distributed:
        check_roles(options.variable_update, list(cluster.tasks))
        os.environ.setdefault(protocol.STRATEGY, STRATEGIES[options.variable_update])
        cluster = shoal.tf.Cluster.from_environment()
    device = _choose_device(options, tell)
    shoal.tf.serve()
    strategy = _strategy(options, cluster, device)
    try:
        return _measure(options, strategy, cluster, device, tell)
    except tf.errors.ResourceExhaustedError as fault:
        raise OptionError(
            f"a batch of {options.batch} does not fit into memory: {_first_line(fault)}", "try a smaller --batch-size"
        ) from None
    except tf.errors.UnimplementedError as fault:
        raise OptionError(f"TensorFlow cannot do this on the {device}: {_first_line(fault)}") from None


def _measure(
    options: TrainOptions, strategy: tf.distribute.Strategy, cluster: shoal.tf.Cluster, device: Device, tell: Tell
) -> Part:
    drives = isinstance(strategy, tf.distribute.ParameterServerStrategy)
    workers = len(cluster.tasks["worker"]) if drives else 1
    everywhere = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
    devices = strategy.num_replicas_in_sync // (cluster.trainers if everywhere else 1)
    _tell_header(options, cluster, device, devices, tell)
    take = (_drive if drives else train_here)(options, strategy, cluster)
    at_once = options.display_every * workers if drives else 1
    tell("Running warm up")
    if options.num_warmup_batches:
        take(options.num_warmup_batches)
    tell("Done warm up")
    tell("Step\tImg/sec\ttotal_loss")
    images = options.batch * devices * at_once
    seconds: list[float] = []
    losses: list[float] = []
    step = 0
    while step < options.num_batches:
        begin = time.perf_counter()
        loss = take(at_once)
        seconds.append(time.perf_counter() - begin)
        step += at_once
        if step <= at_once or step % options.display_every == 0 or step >= options.num_batches:
            losses.append(loss)
            tell(f"{step}\t{speed(images, seconds)}\t{loss:.3f}")
            shoal.tf.report(step, loss)
    return Part(
        replica=f"{cluster.role}-{cluster.index}" if cluster.distributed else "here",
        images=images,
        steps=at_once,
        devices=devices * workers,
        seconds=seconds,
        losses=losses,
        machine=_machine(device),
    )


def train_here(options: TrainOptions, strategy: tf.distribute.Strategy, cluster: shoal.tf.Cluster) -> Take:
    """Steps on this process's own devices, in step with other processes where the strategy is so."""
    with strategy.scope():
        replica_step, shape = _replica_step(options, strategy)
    data = strategy.distribute_datasets_from_function(
        lambda context: _data(options, shape, cluster.rank, cluster.trainers)
    )
    iterator = iter(data)

    step = _step(strategy, replica_step)

    def take(steps: int) -> float:
        for _ in range(steps):
            loss = float(step(iterator))
        return loss

    return take


def _drive(options: TrainOptions, strategy: Any, cluster: shoal.tf.Cluster) -> Take:
    """Steps that workers take, each whenever it is free, with variables on parameter servers."""
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        replica_step, shape = _replica_step(options, strategy)
    step = _step(strategy, replica_step)
    iterator = iter(coordinator.create_per_worker_dataset(lambda: _data(options, shape, 0, 1)))

    def take(steps: int) -> float:
        taken = [coordinator.schedule(step, args=(iterator,)) for _ in range(steps)]
        coordinator.join()
        return float(taken[-1].fetch())

    return take


def _step(strategy: tf.distribute.Strategy, replica_step: Any) -> Any:
    """One step of all of the strategy's replicas with the next batch of an iterator, compiled; answers the loss."""

    def step(iterator: Any) -> tf.Tensor:
        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(replica_step, args=next(iterator)), axis=None)

    return tf.function(step)


def _replica_step(options: TrainOptions, strategy: tf.distribute.Strategy) -> tuple[Any, tuple[int, int, int]]:
    """What one device does in a step, as a function of images and labels, and the shape of an image. To be called in
    the strategy's scope."""
    keras.config.set_image_data_format("channels_first" if options.data_format is DataFormat.NCHW else "channels_last")
    keras.config.set_dtype_policy("mixed_float16" if options.use_fp16 else "float32")
    model = build(options.model)
    variables = model.trainable_variables
    kernels = [each for each in variables if len(each.shape) > 1] if options.weight_decay else []
    optimizer = _optimizer(options)
    optimizer.build(variables)

    def loss_of(images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        logits = tf.cast(model(images, training=not options.forward_only), tf.float32)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        if kernels:
            loss += options.weight_decay * tf.add_n([tf.nn.l2_loss(tf.cast(each, tf.float32)) for each in kernels])
        # Gradients are summed over the replicas that train in step: each takes its part of the mean.
        return loss / strategy.num_replicas_in_sync

    def loss_and_gradients(images: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
        with tf.GradientTape() as tape:
            loss = loss_of(images, labels)
            scaled = optimizer.scale_loss(loss)
        return loss, tape.gradient(scaled, variables)

    # XLA compiles what a device computes; to exchange and apply gradients is the strategy's.
    forward = tf.function(loss_of, jit_compile=options.xla or None)
    backward = tf.function(loss_and_gradients, jit_compile=options.xla or None)

    def step(images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        if options.forward_only:
            return forward(images, labels)
        loss, gradients = backward(images, labels)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    return step, input_shape(options.model, keras.config.image_data_format())


def _optimizer(options: TrainOptions) -> Any:
    """As tf_cnn_benchmarks' flags have them by default."""
    rate = options.learning_rate
    made: Any
    match options.optimizer:
        case Optimizer.SGD:
            made = keras.optimizers.SGD(rate)
        case Optimizer.MOMENTUM:
            made = keras.optimizers.SGD(rate, momentum=options.momentum, nesterov=True)
        case Optimizer.RMSPROP:
            made = keras.optimizers.RMSprop(rate, rho=0.9, momentum=0.9, epsilon=1.0)
        case Optimizer.ADAM:
            made = keras.optimizers.Adam(rate, epsilon=1e-8)
    return keras.optimizers.LossScaleOptimizer(made) if options.use_fp16 else made


def _data(options: TrainOptions, shape: tuple[int, int, int], shard: int, shards: int) -> tf.data.Dataset:
    return dataset(options.data_name, options.data_dir, options.batch, shape, shard=shard, shards=shards)


def _choose_device(options: TrainOptions, tell: Tell) -> Device:
    """Show TensorFlow the GPUs that are asked for, or none. Raises OptionError where there are too few."""
    gpus = tf.config.list_physical_devices("GPU")
    if options.device is Device.CPU or (options.device is None and not gpus):
        if options.num_gpus > 1:
            raise OptionError(
                f"--num-gpus {options.num_gpus}: TensorFlow sees {len(gpus) or 'no'} GPU, and runs on the CPU"
            )
        if options.device is None:
            tell("TensorFlow sees no GPU: the model and its variables are on the CPU.")
        tf.config.set_visible_devices([], "GPU")
        return Device.CPU
    if len(gpus) < options.num_gpus:
        raise OptionError(
            f"{options.num_gpus} GPU asked for, and TensorFlow sees {len(gpus) or 'none'}",
            "leave --device and --num-gpus out to run on what there is",
        )
    tf.config.set_visible_devices(gpus[: options.num_gpus], "GPU")
    return Device.GPU


def _strategy(options: TrainOptions, cluster: shoal.tf.Cluster, device: Device) -> tf.distribute.Strategy:
    names = [f"/gpu:{i}" for i in range(options.num_gpus)] if device is Device.GPU else ["/cpu:0"]
    match options.variable_update:
        case VariableUpdate.INDEPENDENT if len(names) > 1:
            raise OptionError("independent GPUs are independent processes", "--job worker=2 and one GPU each")
        case VariableUpdate.INDEPENDENT:
            return tf.distribute.get_strategy()
        case VariableUpdate.COLLECTIVE_ALL_REDUCE:
            return tf.distribute.MultiWorkerMirroredStrategy()
        case VariableUpdate.PARAMETER_SERVER if cluster.distributed:
            return shoal.tf.strategy()
        case VariableUpdate.PARAMETER_SERVER:
            keeper = "/cpu:0" if options.local_parameter_device is Device.CPU else names[0]
            if names == [keeper]:
                return tf.distribute.get_strategy()
            return tf.distribute.experimental.CentralStorageStrategy(names, parameter_device=keeper)
        case VariableUpdate.REPLICATED:
            return tf.distribute.MirroredStrategy(names)


def _tell_header(options: TrainOptions, cluster: shoal.tf.Cluster, device: Device, devices: int, tell: Tell) -> None:
    data = "imagenet (synthetic)" if options.data_name is DataName.SYNTHETIC else options.data_name
    tell(f"TensorFlow:  {tf.__version__}")
    tell(f"Model:       {options.model}")
    tell(f"Dataset:     {data}")
    tell(f"Mode:        {'forward-only' if options.forward_only else 'training'}")
    tell(f"Batch size:  {options.batch * devices * cluster.trainers} global")
    tell(f"             {options.batch} per device")
    tell(f"Num batches: {options.num_batches}")
    tell(f"Devices:     {devices} × {device} in each of {cluster.trainers}")
    tell(f"Data format: {options.data_format}")
    tell(f"Optimizer:   {options.optimizer}")
    tell(f"Variables:   {options.variable_update}")
    tell("==========")


def _machine(device: Device) -> dict[str, Any]:
    """Facts without which a speed says little."""
    gpus = [tf.config.experimental.get_device_details(each) for each in tf.config.get_visible_devices("GPU")]
    return {
        "tensorflow": tf.__version__,
        "python": platform.python_version(),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "gpus": [each.get("device_name", "GPU") for each in gpus] if device is Device.GPU else [],
    }


def _cpu() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _first_line(fault: BaseException) -> str:
    return str(fault).strip().partition("\n")[0]
