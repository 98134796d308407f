"""What users write: typed models of the resources, read from YAML or JSON with every fault named at once."""
