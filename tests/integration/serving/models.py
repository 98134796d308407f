"""Models for tests, made by TensorFlow as users make theirs."""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf

TEN = tf.constant(10.0)
EXAMPLES = tf.TensorSpec([None], tf.string, name="inputs")


class HalfPlus(tf.Module):
    """x / 2 + `addend`, asked in every way there is."""

    def __init__(self, addend: float) -> None:
        self.half = tf.Variable(0.5)
        self.addend = tf.Variable(addend)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def predict(self, x):
        return {"y": x * self.half + self.addend}

    @tf.function(input_signature=[EXAMPLES])
    def regress(self, inputs):
        return {"outputs": self._of_examples(inputs)}

    @tf.function(input_signature=[EXAMPLES])
    def classify(self, inputs):
        scores = self._of_examples(inputs)
        return {"classes": tf.strings.as_string(tf.round(scores)), "scores": scores}

    @tf.function(input_signature=[EXAMPLES])
    def scores(self, inputs):
        return {"scores": self._of_examples(inputs)}

    def _of_examples(self, inputs):
        spec = {"x": tf.io.FixedLenFeature([1], tf.float32, default_value=[0.0])}
        return tf.io.parse_example(inputs, spec)["x"] * self.half + self.addend


def half_plus(addend: float, folder: Path) -> None:
    """Write the model to the version folder."""
    model = HalfPlus(addend)
    signatures = {
        "serving_default": model.predict,
        "regress_x_to_y": model.regress,
        "classify_x_to_y": model.classify,
        "scores": model.scores,
    }
    tf.saved_model.save(model, str(folder), signatures=signatures)


def plus_one(dtype: tf.DType, folder: Path) -> None:
    """A model that takes one type of number alone."""
    model = tf.Module()
    model.predict = tf.function(lambda x: {"y": x + tf.ones([], dtype)}, [tf.TensorSpec([None], dtype, name="x")])
    tf.saved_model.save(model, str(folder), signatures=model.predict)


class Many(tf.Module):
    """Other signatures: strings, a lookup table, several inputs and outputs, each type, and one that waits."""

    def __init__(self) -> None:
        keys = tf.constant(["cat", "dog"])
        self.table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, tf.constant([1, 2], tf.int64)), -1
        )
        self.weights = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
    def look_up(self, words):
        return {"ids": self.table.lookup(words), "upper": tf.strings.upper(words), "raw_bytes": words}

    @tf.function(
        input_signature=[tf.TensorSpec([None, 3], tf.float32, name="a"), tf.TensorSpec([None], tf.int64, name="b")]
    )
    def two(self, a, b):
        return {"product": tf.matmul(a, self.weights), "doubled": b * 2}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64, name="ids")])
    def pick(self, ids):
        return {"row": tf.gather(self.weights, ids)}

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32, name="x")])
    def total(self, x):
        return {"total": tf.reduce_sum(x)}

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.float32, name="x"), tf.TensorSpec([], tf.float32, name="by")]
    )
    def times(self, x, by=TEN):
        return {"y": x * by}

    @tf.function(input_signature=[tf.TensorSpec([], tf.string, name="file")])
    def wait(self, file):
        looks = tf.constant(0)
        while tf.size(tf.io.matching_files(file)) == 0:
            looks += 1
        return {"looks": looks}

    @tf.function(input_signature=[tf.TensorSpec([], tf.string, name="file")])
    def touch(self, file):
        tf.io.write_file(file, "")
        return {"touched": file}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def not_finite(self, x):
        return {"y": tf.math.log(x)}


SIMPLE_TYPES = ("float64", "int8", "uint8", "int16", "int32", "int64", "uint32", "uint64", "bool", "half")
OTHER_TYPES = (
    *("uint16", "complex64", "complex128", "bfloat16", "qint8", "quint8", "qint16", "quint16", "qint32"),
    *("float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2fnuz"),
)
"""Those that `tf.make_tensor_proto` and JSON do not know all of."""


def many(folder: Path) -> None:
    """Write the model to the version folder. A signature named by each type gives back what it is given."""
    model = Many()
    signatures = {
        "serving_default": model.two,
        "look_up": model.look_up,
        "pick": model.pick,
        "total": model.total,
        "times": model.times,
        "touch": model.touch,
        "wait": model.wait,
        "not_finite": model.not_finite,
    }
    for name in SIMPLE_TYPES + OTHER_TYPES:
        spec = tf.TensorSpec(None, tf.as_dtype(name), name="x")
        signatures[name] = tf.function(lambda x: {"y": tf.identity(x)}, input_signature=[spec])
    tf.saved_model.save(model, str(folder), signatures=signatures)


class Pictures(tf.Module):
    """What an image comes to, as pixels or as the bytes of its file: its brightness by channel, and its size."""

    @tf.function(input_signature=[tf.TensorSpec([None, 4, 6, 3], tf.float32, name="image")])
    def brightness(self, image):
        return {"brightness": tf.reduce_mean(image, [1, 2])}

    @tf.function(input_signature=[tf.TensorSpec([None, None, None], tf.uint8, name="image")])
    def grey(self, image):
        return {"size": tf.shape(image), "darkest": tf.reduce_min(image, [1, 2])}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="image_bytes")])
    def encoded(self, image_bytes):
        sizes = tf.map_fn(lambda each: tf.shape(tf.io.decode_image(each)), image_bytes, fn_output_signature=tf.int32)
        return {"size": sizes}


def pictures(folder: Path) -> None:
    """Write the model to the version folder."""
    model = Pictures()
    signatures = {"serving_default": model.brightness, "grey": model.grey, "encoded": model.encoded}
    tf.saved_model.save(model, str(folder), signatures=signatures)


def tf1_half_plus_two(folder: Path) -> None:
    """The model as TensorFlow 1 wrote it: a graph with a session, and a signature of shape [-1, 1]."""
    v1 = tf.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 1], name="x")
        half = v1.get_variable("half", initializer=0.5, use_resource=False)
        y = x * half + 2.0
        session.run(v1.global_variables_initializer())
        signature = v1.saved_model.predict_signature_def({"x": x}, {"y": y})
        builder = v1.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
        builder.save()


def keras_lstm(folder: Path) -> None:
    """A recurrent network with an untrained head, exported by Keras."""
    layers = tf.keras.layers
    tf.keras.utils.set_random_seed(1)
    # Without a name of ours, Keras numbers the input by what this process has made before.
    model = tf.keras.Sequential([layers.Input((5, 3), name="series"), layers.LSTM(4), layers.Dense(2)])
    model.export(str(folder), verbose=False)
