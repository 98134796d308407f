"""`scaling`: the number of workers follows what they bring, between two bounds."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from shoal.resources.base import Model, Timestamp

DEFAULT_GAIN_PERCENT = 50
DEFAULT_STABILIZATION_SECONDS = 300
"""HorizontalPodAutoscaler's default before it takes pods away; a worker that is added may cost a restart, too."""


class ScalingSpec(Model):
    """Workers are added while they bring enough speed, and taken away where they do not."""

    min_workers: Annotated[int, Field(ge=1)] = Field(default=1, description="The fewest workers. Default: 1.")
    max_workers: Annotated[int, Field(ge=1)] = Field(description="The most workers.")
    step: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="How many workers are added at once. Default: 1."
    )
    gain_percent: Annotated[int, Field(ge=1, le=100)] | None = Field(
        default=None,
        description="How much speed added workers must bring to stay, in percent of what they would bring if speed "
        "grew with their number. Default: 50.",
    )
    stabilization_seconds: Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="How long a number of workers is measured before it changes again, in seconds. Default: 300.",
    )

    @property
    def added(self) -> int:
        return self.step or 1

    @property
    def gain(self) -> float:
        """As a share of the linear one."""
        return (DEFAULT_GAIN_PERCENT if self.gain_percent is None else self.gain_percent) / 100

    @property
    def window(self) -> float:
        """Seconds of training between two changes."""
        return self.stabilization_seconds or DEFAULT_STABILIZATION_SECONDS


class ScalingStatus(Model):
    """What was decided last about the number of workers, and what is known for the next decision."""

    desired_workers: int = Field(description="How many workers there shall be.")
    reason: str = Field(default="", description="Why, in one CamelCase word.")
    message: str = Field(default="", description="Why, for people.")
    last_scale_time: Timestamp | None = Field(default=None, description="When the number changed last.")
    replaced_workers: int | None = Field(
        default=None, description="The number that a change under way takes the place of."
    )
    measured_from_step: int | None = Field(default=None, description="The step at which the measurement began.")
    measured_from_time: Timestamp | None = Field(default=None, description="When the measurement began.")
    rates: dict[int, float] = Field(
        default_factory=dict,
        description="Steps per second of all workers together, as measured, by the number of workers.",
    )
