"""Pure decisions about training jobs: no clock is read, nothing is started, nothing is awaited."""
