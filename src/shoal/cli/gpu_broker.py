"""`shoal gpu broker` and `shoal gpu token`: who lends the GPUs of a pool, and to whom."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.terminal import refuse, say


def register(group: typer.Typer) -> None:
    """Add the commands to `shoal gpu`."""
    group.command()(broker)
    group.command()(token)


def broker(
    tenants: Annotated[
        Path, typer.Option(help="A YAML file with the hashes of tokens, and quotas.", show_default=False)
    ],
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "0.0.0.0",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = 8470,
    tls_folder: Annotated[
        Path | None, typer.Option(help="Where certificates are made and kept; clients trust its ca.crt.")
    ] = None,
    tls_host: Annotated[
        list[str] | None,
        typer.Option(help="A name or address by which the broker is reached. May be given repeatedly."),
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="A certificate that somebody else makes, in PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key.")] = None,
    plain_http: Annotated[bool, typer.Option("--plain-http", help="No TLS: behind a proxy that has it.")] = False,
    audit_log: Annotated[Path | None, typer.Option(help="A file to which every decision is appended.")] = None,
    renewal: Annotated[
        float, typer.Option(min=30, help="Seconds after which a lease that nobody renews expires.")
    ] = 30,
    idle: Annotated[
        float | None, typer.Option(min=1, help="Seconds after which an idle lease gets notice. Default: never.")
    ] = None,
) -> None:
    """Lend the GPUs of the hosts whose agents report here."""
    try:
        import asyncio

        from shoal import __version__
        from shoal.gpu.audit import Audit
        from shoal.gpu.broker import Broker
        from shoal.gpu.broker_server import BrokerServer, OwnCertificate
        from shoal.gpu.tenants import TenantsError
        from shoal.listening import ListenError
        from shoal.pool.ledger import Terms
    except ModuleNotFoundError as missing:
        refuse(f"this needs {missing.name}, which is not installed", 'pip install "shoal[gpu]"')
    ways = [tls_folder is not None, tls_cert is not None, plain_http]
    if sum(ways) != 1 or (tls_cert is None) != (tls_key is None):
        refuse(
            "a broker has TLS in one of three ways: --tls-folder, --tls-cert with --tls-key, or --plain-http",
            "--tls-folder DIR --tls-host NAME makes certificates",
        )
    try:
        lender = Broker(tenants, Terms(renewal=renewal, idle=idle), Audit(audit_log))
        own = OwnCertificate(tls_folder, [*(tls_host or []), "localhost", "127.0.0.1"]) if tls_folder else None
        given = (tls_cert, tls_key) if tls_cert and tls_key else None
        server = BrokerServer(lender, __version__, host, port, own or given)
    except TenantsError as fault:
        refuse(str(fault), "docs/gpu-pool.md shows one; `shoal gpu token` makes tokens")
    except ListenError as fault:
        refuse(str(fault), "choose another --port")
    say(f"broker at {'http' if plain_http else 'https'}://{host}:{server.port}")
    asyncio.run(server.run())


def token() -> None:
    """Make a token: the first line is for who shows it, the second for the broker's file."""
    from shoal.gpu.tenants import new_token, token_hash

    made = new_token()
    say("the token, and its hash for the file of --tenants:")
    print(made)
    print(token_hash(made))
