"""The broker by HTTP: who may do what, and what is said of it. The list of endpoints is the API, and describes it.

Tenants, agents and admins show a token as `Authorization: Bearer …`. Who renews a lease, or waits for it, shows the
lease's own token, too, as `Shoal-Lease-Token: …`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from pydantic import TypeAdapter
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from shoal.gpu.broker import Broker, TooMany, of_tenant
from shoal.gpu.broker_requests import Refusal, body_of, seconds_of, tenant_of
from shoal.gpu.endpoint import Endpoint, describe
from shoal.gpu.messages import (
    AskBody,
    DrainBody,
    GrantBody,
    HostBody,
    LeaseBody,
    QuotaBody,
    RenewalsBody,
    RenewedBody,
)
from shoal.gpu.tenants import Caller, Role, matches
from shoal.pool.brokerage import Settling
from shoal.pool.lease import Lease, LeaseState
from shoal.pool.ledger import Refused
from shoal.pool.queue import places as queue_places
from shoal.pool.quota import Amount
from shoal.pool.report import Answer, Report
from shoal.pool.request import WHOLE


class BrokerApi:
    """Serves `broker` as `app`, an ASGI application."""

    def __init__(self, broker: Broker, version: str) -> None:
        self._broker = broker
        anyone, tenant = (Role.TENANT, Role.ADMIN), (Role.TENANT,)
        self._endpoints = (
            Endpoint("POST", "/v1/leases", "Ask for GPUs", tenant, self._ask, AskBody, LeaseBody, 201),
            Endpoint("GET", "/v1/leases", "Leases: the tenant's, or all", anyone, self._leases, None, list[LeaseBody]),
            Endpoint(
                "GET",
                "/v1/leases/{id}",
                "A lease; with `wait`, when its state is another than `state`, or after so many seconds",
                anyone,
                self._lease,
                None,
                LeaseBody,
                query=("wait", "state"),
            ),
            Endpoint(
                "POST", "/v1/leases/{id}/renew", "Keep a lease from expiring", tenant, self._renew, None, LeaseBody
            ),
            Endpoint(
                "POST",
                "/v1/renewals",
                "Keep all of these; with `wait`, answered when one is in another state, or after so many seconds",
                tenant,
                self._renewals,
                RenewalsBody,
                RenewedBody,
                query=("wait",),
            ),
            Endpoint("DELETE", "/v1/leases/{id}", "Release a lease", anyone, self._release, None, LeaseBody),
            Endpoint(
                "GET", "/v1/hosts", "Hosts, their GPUs and what is free", anyone, self._hosts, None, list[HostBody]
            ),
            Endpoint(
                "POST",
                "/v1/hosts/{host}/report",
                "What an agent has and holds; answered by what it is to hold, with `wait` when that is something else",
                (Role.AGENT,),
                self._report,
                Report,
                Answer,
                query=("wait",),
            ),
            Endpoint(
                "POST",
                "/v1/hosts/{host}/drain",
                "Take nothing new, or take again",
                (Role.ADMIN,),
                self._drain,
                DrainBody,
            ),
            Endpoint("GET", "/v1/quotas", "Quotas: the tenant's, or all", anyone, self._quotas, None, list[QuotaBody]),
            Endpoint(
                "PUT",
                "/v1/tenants/{tenant}",
                "Grant a tenant tokens and a quota, in place of those that it has",
                (Role.ADMIN,),
                self._grant,
                GrantBody,
                QuotaBody,
            ),
            Endpoint(
                "DELETE",
                "/v1/tenants/{tenant}",
                "End a tenant's leases and forget it",
                (Role.ADMIN,),
                self._withdraw,
            ),
        )
        self._description = describe(self._endpoints, version)
        self.app = Starlette(
            routes=[
                Route("/healthz", self._well),
                Route("/readyz", self._well),
                Route("/metrics", self._metrics),
                Route("/openapi.json", self._openapi),
                *(Route(each.path, self._answering(each), methods=[each.method]) for each in self._endpoints),
            ],
            exception_handlers={HTTPException: self._no_such, Exception: _fault},
        )

    # What is asked

    async def _ask(self, caller: Caller, request: Request, body: AskBody) -> LeaseBody:
        try:
            asked = tuple(each.request for each in body.requests)
            lease, token = self._broker.ask(caller.name, asked, body.priority, body.token)
        except Refused as fault:
            raise Refusal(403, str(fault)) from fault
        except TooMany as fault:
            raise Refusal(429, str(fault), Retry_After="10") from fault
        except Settling as fault:
            raise Refusal(
                503, "agents have yet to tell what they hold, this perhaps; ask again", Retry_After="2"
            ) from fault
        if body.token is not None:  # who brings one asks for many, and wants to know at once what each waits for
            return self._listed([lease])[0].model_copy(update={"token": token})
        return LeaseBody.of(lease, self._broker.now(), token)

    async def _leases(self, caller: Caller, request: Request, body: None) -> list[LeaseBody]:
        return self._listed([lease for lease in self._broker.ledger.leases.values() if _sees(caller, lease)])

    async def _renewals(self, caller: Caller, request: Request, body: RenewalsBody) -> RenewedBody:
        """The tenant's own token is enough: with it all of these could be released, too."""
        broker, until = self._broker, self._broker.now() + seconds_of(request)
        while True:
            found = {hash: lease for hash in body.leases if (lease := broker.ledger.of_token(caller.name, hash))}
            for lease in found.values():
                if lease.live:
                    broker.renew(lease)
            lacking = len(found) < len(body.leases) and not broker.settling
            if lacking or any(lease.state is not body.leases[hash] for hash, lease in found.items()):
                break
            if not await broker.wait(of_tenant(caller.name), until):
                break
        listed = dict(zip(found, self._listed(list(found.values())), strict=True))
        return RenewedBody(leases=listed, unknown=sorted(body.leases.keys() - found), settling=broker.settling)

    def _listed(self, leases: list[Lease]) -> list[LeaseBody]:
        broker, now = self._broker, self._broker.now()
        places: dict[str, int] = {}
        for tenant in {lease.tenant for lease in leases if lease.state is LeaseState.QUEUED}:
            places |= queue_places(broker.ledger, tenant, now)
        return [LeaseBody.of(lease, now, place=places.get(lease.id)) for lease in leases]

    async def _lease(self, caller: Caller, request: Request, body: None) -> LeaseBody:
        """Who waits with the lease's token renews it, before and after."""
        lease = self._found(caller, request)
        shown = "shoal-lease-token" in request.headers
        if shown:
            self._held(lease, request)
        seconds = seconds_of(request)
        known = request.query_params.get("state", lease.state.value)
        until = self._broker.now() + seconds
        while lease.state.value == known and await self._broker.wait(lease.id, until):
            pass
        if shown and lease.live:
            self._broker.renew(lease)
        return LeaseBody.of(lease, self._broker.now())

    async def _renew(self, caller: Caller, request: Request, body: None) -> LeaseBody:
        lease = self._found(caller, request)
        self._held(lease, request)
        return LeaseBody.of(lease, self._broker.now())

    async def _release(self, caller: Caller, request: Request, body: None) -> LeaseBody:
        """By its tenant, who may have lost the lease's token. A lease that has ended stays as it is."""
        lease = self._found(caller, request)
        self._broker.release(lease)
        return LeaseBody.of(lease, self._broker.now())

    async def _hosts(self, caller: Caller, request: Request, body: None) -> list[HostBody]:
        now = self._broker.now()
        known = self._broker.ledger.hosts
        return [HostBody.of(name, known[name], self._broker.free(name), now) for name in sorted(known)]

    async def _report(self, caller: Caller, request: Request, body: Report) -> Answer:
        host = request.path_params["host"]
        if not caller.name == host == body.host:
            raise Refusal(
                403, f"the agent of {caller.name} may not speak for {host if caller.name != host else body.host}"
            )
        longest = self._broker.ledger.terms.silence / 2  # an agent that waits must not seem silent
        return await self._broker.hear(body, min(seconds_of(request), longest))

    async def _drain(self, caller: Caller, request: Request, body: DrainBody) -> None:
        host = request.path_params["host"]
        if host not in self._broker.ledger.hosts:
            raise Refusal(404, f"no host {host} is known; those that are: /v1/hosts")
        self._broker.drain(host, body.drained)
        self._broker.audit.write("drain", host=host, drained=body.drained, by=caller.name)

    async def _quotas(self, caller: Caller, request: Request, body: None) -> list[QuotaBody]:
        ledger = self._broker.ledger
        holding = {tenant for tenant, amount in ledger.used.items() if amount != Amount()}
        tenants = [caller.name] if caller.role is Role.TENANT else sorted(ledger.quotas.keys() | holding)
        return [self._quota(tenant) for tenant in tenants]

    async def _grant(self, caller: Caller, request: Request, body: GrantBody) -> QuotaBody:
        tenant = tenant_of(request)
        with _granting():
            self._broker.grant(tenant, body.grant)
        limits = body.model_dump(exclude={"tokens"})
        self._broker.audit.write("tenant", tenant=tenant, granted=True, by=caller.name, **limits)
        return self._quota(tenant)

    async def _withdraw(self, caller: Caller, request: Request, body: None) -> None:
        tenant = tenant_of(request)
        with _granting():
            known = self._broker.withdraw(tenant)
        if not known:
            raise Refusal(404, f"no tenant {tenant} was granted")
        self._broker.audit.write("tenant", tenant=tenant, granted=False, by=caller.name)

    def _quota(self, tenant: str) -> QuotaBody:
        ledger, quota = self._broker.ledger, self._broker.ledger.quota(tenant)
        return QuotaBody(
            tenant=tenant,
            gpus=None if quota.milli is None else quota.milli / WHOLE,
            gpu_memory_mib=quota.memory_mib,
            used_gpus=ledger.used[tenant].milli / WHOLE,
            used_gpu_memory_mib=ledger.used[tenant].memory_mib,
        )

    # Who asks, and whether they may

    def _found(self, caller: Caller, request: Request) -> Lease:
        """The lease of the path. Of another tenant's nothing is told, not even that it is there."""
        id = request.path_params["id"]
        lease = self._broker.ledger.leases.get(id)
        if lease is not None and _sees(caller, lease):
            return lease
        if lease is None and self._broker.settling:
            raise Refusal(503, f"agents have yet to tell what they hold, {id} perhaps; ask again", Retry_After="2")
        raise Refusal(404, f"tenant {caller.name} has no lease {id}: it has ended some time ago, or never was")

    def _held(self, lease: Lease, request: Request) -> None:
        """Renew it for who shows its token."""
        if not matches(request.headers.get("shoal-lease-token", ""), lease.token_hash):
            raise Refusal(403, f"this is not the token of {lease.id}; it goes into the header Shoal-Lease-Token")
        if not lease.live:
            raise Refusal(
                410, f"{lease.id} has ended: {lease.state.value}{f', {lease.reason}' if lease.reason else ''}"
            )
        self._broker.renew(lease)

    def _answering(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            caller: Caller | None = None
            try:
                caller = self._caller(request)
                if caller.role not in endpoint.roles:
                    raise Refusal(403, f"this is not for {caller.role.value}s: {endpoint.method} {endpoint.path}")
                body = await body_of(request, endpoint.takes)
                result = await endpoint.answer(caller, request, body)
            except Refusal as refusal:
                return self._refuse(refusal, request, caller)
            except ClientDisconnect:
                return Response(status_code=400)
            if endpoint.gives is None:
                return Response(status_code=204)
            shown = TypeAdapter(endpoint.gives).dump_json(result, exclude_none=False)
            return Response(shown, endpoint.status, media_type="application/json")

        return answer

    def _caller(self, request: Request) -> Caller:
        given = re.fullmatch(r"Bearer ([!-~]+)", request.headers.get("authorization", ""), re.I)
        caller = self._broker.tenants.caller(given[1]) if given else None
        if caller is None:
            problem = "a token that nobody has" if given else "no token: Authorization: Bearer … is expected"
            raise Refusal(401, problem, WWW_Authenticate="Bearer")
        return caller

    def _refuse(self, refusal: Refusal, request: Request, caller: Caller | None) -> Response:
        self._note_refusal(
            refusal.code,
            refusal.message,
            client=request.client.host if request.client else "",
            method=request.method,
            path=request.url.path[:200],
            caller=f"{caller.role.value} {caller.name}" if caller else "",
        )
        headers = refusal.headers
        if refusal.code in (408, 413):
            headers = {**headers, "Connection": "close"}  # the rest of the body is not read
        return JSONResponse({"error": refusal.message}, refusal.code, headers)

    def slow(self, client: str) -> None:
        """Write down that this address has begun a request and not gone on with its head."""
        self._note_refusal(408, "the head of a request did not come in time", client=client, caller="")

    def _note_refusal(self, code: int, reason: str, **about: str) -> None:
        self._broker.refusals.labels(str(code)).inc()
        self._broker.audit.write("refused", status=code, reason=reason, **about)

    # Besides

    async def _well(self, request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _metrics(self, request: Request) -> Response:
        return Response(generate_latest(self._broker.registry), media_type=CONTENT_TYPE_LATEST)

    async def _openapi(self, request: Request) -> Response:
        return JSONResponse(self._description)

    async def _no_such(self, request: Request, fault: Exception) -> Response:
        assert isinstance(fault, HTTPException)
        what = {404: f"there is no {request.url.path}", 405: f"{request.method} is not for {request.url.path}"}
        message = what.get(fault.status_code, fault.detail)
        return JSONResponse({"error": f"{message}; see /openapi.json"}, fault.status_code, fault.headers)


async def _fault(request: Request, fault: Exception) -> Response:
    return JSONResponse({"error": "a fault in the broker; its log has it"}, 500)


@contextmanager
def _granting() -> Iterator[None]:
    try:
        yield
    except Refused as fault:
        raise Refusal(409, str(fault)) from fault
    except OSError as fault:
        told = (
            f"the broker cannot write {fault.filename}: {fault.strerror}; write the tenant into its file of --tenants"
        )
        raise Refusal(409, told) from fault


def _sees(caller: Caller, lease: Lease) -> bool:
    return caller.role is Role.ADMIN or caller.name == lease.tenant
