# The operator's image, which also has every other command of `shoal` that needs no TensorFlow; and with other EXTRAS the
# model server's, which ModelServers with `server: Shoal` run in.
#
#   docker build -t shoal/operator:0.1.0 .
#   docker build --build-arg BASE=registry.example/python:3.12 -t shoal/operator:0.1.0 .
#   docker build --build-arg EXTRAS=tensorflow,serving -t shoal/server:0.1.0 .
#
# BASE is any image with Python 3.11 to 3.13 as `python3`, and pip; what is built runs on the same one.
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
ARG EXTRAS=kubernetes,gpu
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
# pip works on the environment from outside, so that the environment has neither pip nor what builds wheels.
RUN python3 -m venv --without-pip /opt/shoal \
 && python3 -m pip --python /opt/shoal/bin/python --disable-pip-version-check --no-cache-dir install ".[$EXTRAS]"

FROM ${BASE}
COPY --from=build /opt/shoal /opt/shoal
# The file system may be read-only: bytecode was written when the packages were installed.
ENV PATH=/opt/shoal/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# By number: Kubernetes cannot tell of a name whether it is root.
USER 65532:65532
CMD ["shoal", "operator"]
