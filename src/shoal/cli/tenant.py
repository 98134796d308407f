"""`shoal tenant`: teams on a cluster, each in a namespace of its own with what it is granted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.gpu_options import CA, client_of, mebibytes
from shoal.cli.inspect import OutputOption
from shoal.cli.place import ContextOption, need_kubernetes
from shoal.cli.table import bar, table
from shoal.cli.terminal import Output, console, refuse, say

if TYPE_CHECKING:
    from shoal.gpu.client import BrokerClient
    from shoal.kubernetes.client.connection import Connection
    from shoal.kubernetes.tenants.administration import Change
    from shoal.kubernetes.tenants.use import TenantUse, Use
    from shoal.resources.tenant import Tenant

app = typer.Typer(name="tenant", help="Teams on a cluster, and what each may take.", no_args_is_help=True)

TenantName = Annotated[str, typer.Argument(metavar="NAME", help="The tenant's name, and its namespace's.")]

PoolBroker = Annotated[
    str | None, typer.Option("--broker", envvar="SHOAL_BROKER", help="The URL of the pool's broker. Default: no pool.")
]
AdminToken = Annotated[
    Path | None, typer.Option("--token-file", envvar="SHOAL_TOKEN_FILE", help="A file with an admin's token for it.")
]


def register(root: typer.Typer) -> None:
    """Add the group."""
    root.add_typer(app)


@app.command()
def create(
    name: TenantName,
    cpu: Annotated[str, typer.Option(help="Cores that its pods may request together.", show_default=False)],
    memory: Annotated[str, typer.Option(help="Memory that they may, as in 256Gi.", show_default=False)],
    gpus: Annotated[int, typer.Option(help="GPUs of each resource name.")] = 0,
    gpu_memory: Annotated[
        str | None, typer.Option(help="Memory of the pool's GPUs, as in 80Gi. Default: no limit.")
    ] = None,
    max_priority: Annotated[int, typer.Option(help="Of its requests to the pool.")] = 0,
    pods: Annotated[int | None, typer.Option(help="Pods at a time. Default: no limit.")] = None,
    storage: Annotated[str | None, typer.Option(help="What claims may request. Default: no limit.")] = None,
    member: Annotated[
        list[str] | None, typer.Option(help="A user, as the cluster knows it. May be given repeatedly.")
    ] = None,
    group: Annotated[list[str] | None, typer.Option(help="A group of users. May be given repeatedly.")] = None,
    nfs: Annotated[
        list[str] | None,
        typer.Option(metavar="SERVER:/PATH", help="An NFS export that jobs may use. May be given repeatedly."),
    ] = None,
    egress: Annotated[
        list[str] | None,
        typer.Option(metavar="CIDR", help="A network that pods may reach. May be given repeatedly."),
    ] = None,
    ingress_from: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMESPACE",
            help="Its pods may reach model servers. May be given repeatedly. Default: ingress-nginx.",
        ),
    ] = None,
    operator_namespace: Annotated[str, typer.Option(help="Where the operator runs.")] = "shoal-system",
    print_: Annotated[bool, typer.Option("--print", help="Print the objects, and change nothing.")] = False,
    broker: PoolBroker = None,
    token_file: AdminToken = None,
    ca: CA = None,
    context: ContextOption = None,
) -> None:
    """Make a tenant: namespace, quotas, rights of its members, network policy. Given again, changes what differs.

    What an option does not say is not granted, also when the tenant is there: give all of them each time. Where a
    broker is named, the tenant gets a quota of the pool and a token for it, which is kept in a Secret and shown once.
    """
    tenant = _tenant(
        name=name,
        cpu=cpu,
        memory=memory,
        gpus=gpus,
        gpu_memory=gpu_memory,
        max_priority=max_priority,
        pods=pods,
        storage=storage,
        members=member or [],
        groups=group or [],
        nfs=nfs or [],
        egress=egress or [],
        operator_namespace=operator_namespace,
        **({"ingress_from": ingress_from} if ingress_from else {}),
    )
    need_kubernetes()
    if print_:
        from shoal.kubernetes.tenants.objects import tenant_objects
        from shoal.resources.yaml_text import write_yaml

        print("---\n".join(write_yaml(each) for each in tenant_objects(tenant)), end="")
        return
    from shoal.kubernetes.tenants.administration import Administration

    pool = _pool(broker, token_file, ca)
    if pool is None and (gpu_memory is not None or max_priority):
        refuse(
            "--gpu-memory and --max-priority are the pool's to keep, and no broker is named", "--broker URL names it"
        )
    tenants = Administration(_connection(context))
    changes = tenants.create(tenant)
    if pool is None:
        _say_changes(name, changes)
        return
    from shoal.gpu.tenants import new_token, token_hash

    known = tenants.pool_token(name)
    token = known or new_token()
    mebi = mebibytes("--gpu-memory", gpu_memory) if gpu_memory is not None else None
    granted = pool.grant(name, token_hash(token), gpus, mebi, max_priority)
    changes += tenants.give_pool(tenant, token, str(broker), ca.read_text(encoding="utf-8") if ca else "")
    _say_changes(name, changes)
    of_memory = "" if mebi is None else f", {granted['gpu_memory_mib']} MiB of their memory"
    say(f"the pool lends it {granted['gpus']:g} GPUs{of_memory}")
    if known is None:
        say("its token for the pool, which is not shown again:")
        print(token)


@app.command(name="list")
def list_(output: OutputOption = Output.TABLE, context: ContextOption = None) -> None:
    """The tenants of the cluster, and what each uses of what it is granted."""
    need_kubernetes()
    from shoal.kubernetes.tenants.use import all_tenants

    found = all_tenants(_connection(context))
    if output is Output.JSON:
        print(json.dumps([_as_data(each) for each in found], indent=2))
        return
    if not found:
        say("there are no tenants")
        return
    columns = list(dict.fromkeys(use.resource for tenant in found for use in tenant.uses))
    rows = []
    for tenant in found:
        uses = {use.resource: f"{use.used} of {use.granted}" for use in tenant.uses}
        rows.append([tenant.name, *(uses.get(column, "") for column in columns)])
    console().print(table(["TENANT", *map(str.upper, columns)], rows))


@app.command()
def show(name: TenantName, output: OutputOption = Output.TABLE, context: ContextOption = None) -> None:
    """What a tenant uses of what it is granted, and who its members are."""
    need_kubernetes()
    from shoal.kubernetes.tenants.use import one_tenant

    found = one_tenant(_connection(context), name)
    if output is Output.JSON:
        print(json.dumps(_as_data(found), indent=2))
        return
    rows = [_row(use) for use in found.uses]
    console().print(table(["RESOURCE", "USED", "GRANTED", "", ""], rows, right=("USED", "GRANTED")))
    if found.members is not None:
        print(f"\nmembers: {', '.join(found.members) or 'none'}")


@app.command()
def delete(
    name: TenantName,
    yes: Annotated[bool, typer.Option("--yes", help="Delete it.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    broker: PoolBroker = None,
    token_file: AdminToken = None,
    ca: CA = None,
    context: ContextOption = None,
) -> None:
    """Delete a tenant with its namespace and all that is in it: jobs, model servers, claims and what they hold."""
    if yes == dry_run:
        refuse(
            "jobs, models and claims of a tenant go with it, for ever",
            f"see what would go: shoal tenant delete {name} --dry-run; then say --yes in its place",
        )
    need_kubernetes()
    from shoal.kubernetes.tenants.administration import Administration

    pool = _pool(broker, token_file, ca)
    tenants = Administration(_connection(context))
    removal = tenants.removal(name)
    inside = ", ".join(f"{number} {kind}" for kind, number in removal.inside.items())
    for each in removal.beyond:
        print(each + (f" with {inside}" if inside and each == f"namespace/{name}" else ""))
    if pool is not None:
        print("its leases, quota and token of the pool")
    if dry_run:
        say("nothing was deleted")
        return
    if pool is not None:
        _withdraw(pool, name)
    tenants.remove(name)
    say(f"tenant {name} is deleted")


def _tenant(**given: Any) -> Tenant:
    """Refuses what makes no tenant, by the option that says it."""
    from pydantic import ValidationError

    from shoal.resources.tenant import NFSExport, Tenant

    options = {"members": "--member", "groups": "--group", "name": "NAME"}
    try:
        exports = [NFSExport.read(each) for each in given.pop("nfs")]
    except ValueError as fault:
        refuse(f"--nfs {fault}")
    try:
        return Tenant(**given, nfs=exports)
    except ValidationError as error:
        first, *_ = error.errors()
        field = str(first["loc"][0])
        told = first["msg"].removeprefix("Value error, ")
        if first["type"] == "string_pattern_mismatch":
            told = f"{first['input']!r} is no name of a namespace: lower-case letters, digits and dashes"
        refuse(f"{options.get(field, '--' + field.replace('_', '-'))}: {told}")


def _pool(broker: str | None, token_file: Path | None, ca: Path | None) -> BrokerClient | None:
    """Who asks the broker; None where none is named."""
    if broker is None:
        return None
    if token_file is None:
        refuse(f"the broker at {broker} asks for an admin's token", "--token-file FILE, or SHOAL_TOKEN_FILE")
    return client_of(broker, token_file, ca)


def _withdraw(pool: BrokerClient, name: str) -> None:
    from shoal.gpu.client import BrokerError

    try:
        pool.withdraw(name)
    except BrokerError as fault:
        if fault.code != 404:  # it was never granted, or is withdrawn already
            raise


def _connection(context: str | None) -> Connection:
    from shoal.kubernetes.client.connection import Connection

    return Connection(context)


def _say_changes(name: str, changes: list[Change]) -> None:
    for change in changes:
        if change.new:
            print(f"{change.object}: new")
        for told in change.differs:
            print(f"{change.object}: {told}")
    say(f"tenant {name} is {'as granted' if changes else 'as granted already: nothing has changed'}")


def _row(use: Use) -> list[str]:
    percent = 100 * use.share
    return [use.resource, use.used, use.granted, bar(percent), f"{percent:.0f} %"]


def _as_data(tenant: TenantUse) -> dict[str, Any]:
    uses = {each.resource: {"used": each.used, "granted": each.granted} for each in tenant.uses}
    return {
        "name": tenant.name,
        "resources": uses,
        **({} if tenant.members is None else {"members": tenant.members}),
    }
