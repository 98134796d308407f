"""The objects that install the operator: what the Helm chart makes, for those without Helm.

The chart's templates are written by hand, since Helm can run nothing else; `values.schema.json` and the roles are
generated from here, and tests hold the rest of the chart equal to these objects under many values.
"""

from shoal.kubernetes.install.objects import definitions, namespace_object, operator_objects
from shoal.kubernetes.install.values import Image, Values

__all__ = ["Image", "Values", "definitions", "namespace_object", "operator_objects"]
