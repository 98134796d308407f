"""`shoal bench`: the models by which people compare machines and clusters, in the words of tf_cnn_benchmarks.

`options`, `timing`, `record` and `job` are plain and pure; `models`, `data` and `replica` import TensorFlow, and only
when they run. A benchmark of several processes is a TFJob like any other, whose replicas run `shoal bench train`
themselves and find their part in TF_CONFIG.
"""
