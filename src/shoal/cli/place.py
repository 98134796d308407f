"""Where a command looks for runs: `--on local`, `--on kubernetes`, and there in which cluster and namespace, or
several clusters: `--on context-a,context-b` and `--on any`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from shoal.cli.terminal import refuse, say

if TYPE_CHECKING:
    from shoal.kubernetes.client.delivery import Delivery
    from shoal.runs import Runs

ON = "SHOAL_ON"
"""The environment variable that stands for `--on`."""


@dataclass(frozen=True)
class On:
    """Where runs run: `On.LOCAL`, `On.KUBERNETES`, `On.ANY`, or the clusters of some contexts."""

    text: str
    contexts: tuple[str, ...] = ()

    LOCAL: ClassVar[On]
    KUBERNETES: ClassVar[On]
    ANY: ClassVar[On]

    def __str__(self) -> str:
        return self.text

    @property
    def several(self) -> bool:
        return self is On.ANY or bool(self.contexts)


On.LOCAL, On.KUBERNETES, On.ANY = On("local"), On("kubernetes"), On("any")
_WORDS = {on.text: on for on in (On.LOCAL, On.KUBERNETES, On.ANY)}


def parse_on(text: str | On) -> On:
    """Raises BadParameter for words that do not go together."""
    if isinstance(text, On):
        return text
    if text in _WORDS:
        return _WORDS[text]
    contexts = tuple(dict.fromkeys(each.strip() for each in text.split(",")))
    if wrong := [each for each in contexts if each in _WORDS or not each]:
        raise typer.BadParameter(f"{text!r}: only contexts of the kubeconfig may stand together, not {wrong[0]!r}")
    return On(text, contexts)


def complete_on(incomplete: str) -> list[str]:
    """The words, and the contexts that are not named yet."""
    *before, last = incomplete.split(",")
    words = [] if before else [word for word in _WORDS if word.startswith(last)]
    try:
        from shoal.kubernetes.client.connection import contexts
    except ModuleNotFoundError:
        return words
    named = "".join(f"{each}," for each in before)
    return [*words, *(f"{named}{each}" for each in contexts() if each.startswith(last) and each not in before)]


OnOption = Annotated[
    On,
    typer.Option(
        "--on",
        envvar=ON,
        parser=parse_on,
        autocompletion=complete_on,
        metavar="PLACE",
        help="local: as processes of this machine; kubernetes: as pods of a cluster; any, or contexts with commas "
        "between: as pods of one of several clusters, where there is room.",
    ),
]
ContextOption = Annotated[
    str | None, typer.Option("--context", help="A context of the kubeconfig; by default its current one.")
]
NamespaceOption = Annotated[
    str | None, typer.Option("--namespace", "-n", help="A namespace; by default the context's.")
]


def runs_on(
    on: On, context: str | None, namespace: str | None, prefork: bool = True, delivery: Delivery | None = None
) -> Runs:
    """The runs of that place. What a place needs is imported only here."""
    if on is On.LOCAL:
        if context is not None or namespace is not None:
            refuse("--context and --namespace belong to a cluster", "add --on kubernetes")
        from shoal.local.backend import LocalRuns

        return LocalRuns(prefork)
    need_kubernetes()
    named = "" if os.environ.get(ON) == on.text else f" --on {on}"
    if on.several:
        if context is not None:
            refuse(f"--on {on} names clusters already, and --context one more", f"--on kubernetes --context {context}")
        return _several(on, namespace, named, delivery)
    from shoal.kubernetes.client.runs import ClusterRuns

    named += f" --context {context}" if context else ""
    return ClusterRuns(context, namespace, named, delivery)


def _several(on: On, namespace: str | None, named: str, delivery: Delivery | None) -> Runs:
    from shoal.kubernetes.client.connection import contexts
    from shoal.kubernetes.client.runs import ClusterRuns
    from shoal.kubernetes.clusters.asking import Asking
    from shoal.kubernetes.clusters.many import ManyClusters
    from shoal.kubernetes.clusters.memory import Memory
    from shoal.local.runs import home_folder
    from shoal.resources.suggestion import nearest
    from shoal.runs import RunError

    chosen: Sequence[str] = on.contexts or contexts(one_of_each=True)
    if not chosen:
        refuse("--on any: the kubeconfig has no context", "KUBECONFIG names the file that says how to reach a cluster")
    clusters = {}
    for each in chosen:
        try:
            clusters[each] = ClusterRuns(each, namespace, f" --on kubernetes --context {each}", delivery)
        except RunError as fault:
            if on is not On.ANY:
                if meant := nearest(on.text, list(_WORDS)):
                    refuse(f"--on {on}: {fault}, and it is no other place", f"did you mean {meant}?")
                raise
            say(f"{each} is left out: {fault}")
    return ManyClusters(Asking(clusters), named, Memory(home_folder() / "clusters.json"), say)


def need_kubernetes() -> None:
    """Refuse where the extra is not installed without which no cluster can be reached."""
    try:
        import lightkube  # noqa: F401
    except ModuleNotFoundError:
        refuse("Kubernetes needs more than Shoal's base", 'pip install "shoal[kubernetes]"')
