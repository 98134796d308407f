"""Break one rule at a time, and see a test fail.

A rule that can be broken without a failing test is a rule that nobody holds. Each mutant is one edit of one file: tests
run against a copy of the package with that edit, and must fail. For `shoal.training` that is its whole suite; the most
important rules elsewhere name the file of tests that holds them.

    python tools/mutants.py            all mutants; exit code 1 if one survives
    python tools/mutants.py failure    only those of files whose path contains the word
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent

HISTORIES = "tests/unit/training/test_histories.py"
"""Slower than the rest, and asked only of mutants that the rest lets live."""

# (file of shoal.training, what stands there, what to put in its place)
TRAINING: list[tuple[str, str, str]] = [
    ("cluster_spec.py", "if role is not Role.EVALUATOR and spec.count", "if spec.count"),
    ("cluster_spec.py", "{str(replica.index): addresses[replica]}", '{"0": addresses[replica]}'),
    ("cluster_spec.py", "sizes.pop(Role.WORKER, None)", "pass"),
    ("clean_up.py", "case CleanPodPolicy.NONE:", "case CleanPodPolicy.RUNNING:"),
    ("clean_up.py", "id not in keep and _unwanted", "_unwanted"),
    ("conditions.py", "(turned and holds) or before is None", "before is None"),
    ("deadline.py", "if due > state.now:", "if True:"),
    ("deadline.py", "    state.wake(due)\n", ""),
    ("decide.py", "if id in there or id in blocked:", "if id in there:"),
    ("decide.py", "if id in there or id in blocked:", "if id in blocked:"),
    ("decide.py", "if pause and state.attempt(id):", "if False:"),
    ("decide.py", "leftovers or state.group & state.completed", "state.group & state.completed"),
    ("decide.py", "leftovers or state.group & state.completed", "leftovers"),
    ("decide.py", "    if state.status.phase.final:\n        return _after_the_end(state)\n", ""),
    ("decide.py", "    if finishing(state):\n        return _finish(state)\n", ""),
    ("decide.py", "        follow_scale(state)\n", ""),
    ("decide.py", "        actions.append(DeleteJob())", "        pass"),
    ("decide.py", "    elif expired(state):", "    if expired(state):"),
    ("serving.py", "succeeded = status.phase is Phase.SUCCEEDED", "succeeded = True"),
    ("serving.py", "and status.condition(ConditionType.SERVED) is None", ""),
    ("decide.py", "keep=waiting", "keep=state.wanted"),
    ("scaling_policy.py", "if before is not None and workers == before.replaced_workers:", "if False:"),
    ("scaling_policy.py", "time <= settled or ", ""),
    ("scaling_policy.py", " or progress.step < step", ""),
    ("scaling_policy.py", " + SETTLING * policy.window", ""),
    ("scaling_policy.py", "if state.strategy in _STEP_OF_ONE:", "if True:"),
    ("scaling_policy.py", "chief and state.strategy not in _COORDINATED", "chief"),
    ("scaling_policy.py", 'before.model_copy(update={"replaced_workers": None})', "before"),
    ("worker_count.py", "< policy.gain * (1 - TOLERANCE)", "< 0"),
    ("worker_count.py", "min(workers + policy.added, policy.max_workers)", "workers + policy.added"),
    ("worker_count.py", "max(workers - policy.added, policy.min_workers)", "workers - policy.added"),
    ("worker_count.py", "if share >= policy.gain * (1 + TOLERANCE):", "if True:"),
    ("worker_count.py", "(more + others) / (fewer + others)", "more / fewer"),
    ("duties.py", "return role is Role.PS", "return False"),
    ("duties.py", "(Strategy.PARAMETER_SERVER, Strategy.IN_GRAPH)", "(Strategy.IN_GRAPH,)"),
    ("duties.py", "Role.CHIEF if Role.CHIEF in job.replicas else Role.WORKER", "Role.WORKER"),
    ("duties.py", "strategy is Strategy.ALL_REDUCE and role in (Role.CHIEF, Role.WORKER)", "False"),
    ("failure.py", "key=lambda failure: (failure.time, failure.plain_error)", "key=lambda failure: failure.id"),
    ("failure.py", "id in state.started and id not in seen", "False and id not in seen"),
    ("failure.py", "and (began is None or began <= first.time)", ""),
    ("failure.py", "depends_on(state.strategy, failure.id.role, cause.role)", "False"),
    ("failure.py", "if not failure.plain_error or len(state.wanted) == 1:", "if True:"),
    ("failure.py", "state.now if due - state.now > SETTLE_SECONDS else due", "due"),
    ("failure.py", "return other is Role.PS and role is not Role.PS", "return False"),
    ("failure_policy.py", "if failure.id in answered:", "if False:"),
    ("failure_policy.py", "        elif _tolerated(state, failure):\n            continue\n", ""),
    ("failure_policy.py", "            state.retire(scope)\n        elif", "            pass\n        elif"),
    ("failure_policy.py", "if not retryable(policy, failure):", "if False:"),
    ("failure_policy.py", "if exhausted(state):", "if False:"),
    ("failure_policy.py", "if failure.id in state.group and (done", "if False and (done"),
    ("failure_policy.py", "return _incomplete_group(state)", "return None"),
    ("failure_policy.py", "state.status.retries > limit", "False"),
    ("failure_policy.py", "failure.id == leader(state.job) or", ""),
    ("finish.py", "done is not None and done >= final", "done is not None"),
    (
        "finish.py",
        "max(checkpoints or [p.step for p in said], default=None)",
        "max([p.step for p in said], default=None)",
    ),
    ("finish.py", "if state.now >= (due := _due(state)):", "due = _due(state)\n    if False:"),
    ("finish.py", "min(due, began + limit)", "due"),
    ("finish.py", "state.now >= end + PEER_SECONDS", "False"),
    ("finish.py", "return [*_peers(state), *_evaluators(state)]", "return _evaluators(state)"),
    ("finish.py", "return [*_peers(state), *_evaluators(state)]", "return _peers(state)"),
    ("job_state.py", "            if replica in self.completed:\n                continue\n", ""),
    ("job_state.py", "self.attempts[replica] = self.attempt(replica) + 1", "pass"),
    ("job_state.py", "self.started.discard(replica)\n            if gone", "if gone"),
    ("job_state.py", "always and serves(self.strategy, role)", "always"),
    ("job_state.py", "always and serves(self.strategy, role)", "False"),
    ("progress.py", "trains(state.strategy, id.role)", "True"),
    ("progress.py", "said.step <= before.step or", ""),
    ("recovery.py", "        return state.group\n", "        return frozenset((failed,))\n"),
    ("recovery.py", "if client_too else", "if False else"),
    ("recovery.py", "failed.role is Role.PS", "True"),
    ("restart_policy.py", "    if failure.cause.disruption:\n        return True\n", ""),
    ("restart_policy.py", "FIRST_RETRYABLE_EXIT_CODE = 128", "FIRST_RETRYABLE_EXIT_CODE = 129"),
    ("restart_policy.py", "FIRST_RETRYABLE_EXIT_CODE = 128", "FIRST_RETRYABLE_EXIT_CODE = 127"),
    ("restart_policy.py", "policy is not RestartPolicy.NEVER", "True"),
    ("restart_policy.py", "policy is RestartPolicy.EXIT_CODE", "False"),
    ("retry_budget.py", "state.status.retries >= limit", "state.status.retries > limit"),
    ("retry_budget.py", "status.retries += 1", "pass"),
    ("retry_budget.py", "    if _answered_together(state, failure):\n        return\n", ""),
    ("retry_budget.py", "or (began is not None and began >= due)", ""),
    ("retry_budget.py", "if pause_left(state) or due == state.now:", "if due == state.now:"),
    ("retry_budget.py", "if pause_left(state) or due == state.now:", "if pause_left(state):"),
    ("retry_budget.py", "ran_before and 0.0", "0.0"),
    ("retry_budget.py", "began is not None or failure.cause is Cause.VANISHED", "began is not None"),
    ("retry_budget.py", "< TOGETHER_SECONDS", "< 1000.0"),
    ("retry_budget.py", "status.pauses = 1 if healthy else status.pauses + 1", "status.pauses += 1"),
    ("retry_budget.py", "state.status.retries += new", "pass"),
    ("retry_budget.py", "2**doublings", "1"),
    ("retry_budget.py", "failure.time - began >= HEALTHY_SECONDS", "False"),
    ("retry_budget.py", "0.0 < left <= LONGEST_PAUSE_SECONDS", "0.0 < left"),
    ("scaling.py", "replica.shape != state.shapes[id.role]", "False"),
    ("scaling.py", "        state.started.discard(replica)\n", ""),
    ("scaling.py", "    state.retire(outdated)\n", "    pass\n"),
    ("stall.py", "if due > state.now:", "if True:"),
    ("stall.py", "        state.wake(due)\n", ""),
    ("stall.py", "max(started, state.status.progress.time)", "state.now"),
    ("stall.py", "replica.activity_at or 0.0 for", "0.0 for"),
    ("stall.py", "replica.progress.step if replica.progress else -1", "0"),
    ("stall.py", "replica.role is not Role.EVALUATOR", "True"),
    ("stall.py", "waiting_since(state) or 0.0", "0.0"),
    ("stall.py", "not trainers or state.gated", "not trainers"),
    ("startup.py", "state.current[id].serving is False", "False"),
    ("startup.py", "since = state.status.waiting_time = ", "since = "),
    ("startup.py", "state.gated or not waiting_for(state)", "not waiting_for(state)"),
    ("startup.py", "state.gated or not waiting_for(state)", "state.gated"),
    ("startup.py", "if since + timeout > state.now:", "if True:"),
    ("startup.py", "        state.wake(since + timeout)\n", ""),
    ("success_policy.py", "is SuccessPolicy.ALL_WORKERS", "is None"),
    ("success_policy.py", "return leader(state.job) in state.completed", "return bool(state.completed)"),
    ("suspension.py", "status.start_time = ", "status.message = "),
    ("suspension.py", "    state.retire([replica for replica in state.wanted if replica in state.started])\n", ""),
    ("ttl.py", "if ended + ttl > state.now:", "if False:"),
    ("ttl.py", "        state.wake(ended + ttl)\n", ""),
]


CERTIFICATES = "test_certificates.py"
SERVERS = "kubernetes/operator/test_servers.py"
MONITORING = "kubernetes/monitoring/test_monitoring.py"
ASKED = "kubernetes/pooled/test_asked.py"
UNITS = "kubernetes/pooled/test_units.py"

# (file, what stands there, what to put in its place, the tests under tests/unit that hold it)
ELSEWHERE: list[tuple[str, str, str, str]] = [
    ("kubernetes/pooled/asked.py", "if len(named) > 1:", "if False:", ASKED),
    ("kubernetes/pooled/asked.py", "number != int(number) or ", "", ASKED),
    ("kubernetes/pooled/asked.py", "if memory is not None and percent is not None:", "if False:", ASKED),
    ("kubernetes/pooled/asked.py", "mib = -(-int(", "mib = (int(", ASKED),
    ("kubernetes/pooled/asked.py", "not 0.1 <= percent <= 100", "False", ASKED),
    ("kubernetes/pooled/gate.py", 'if each.get("name") not in own', "", ASKED),
    ("kubernetes/pooled/gate.py", "return name if _SECRET.fullmatch(name) else None", "return name or None", ASKED),
    ("kubernetes/pooled/gate.py", "        served[host] += 1\n", "", ASKED),
    ("kubernetes/pooled/gate.py", 'if each.get("name") != GATE', 'if each.get("name") == GATE', ASKED),
    ("kubernetes/pooled/admission.py", "if stored is not None:", "if False:", ASKED),
    ("kubernetes/pooled/admission.py", 'if spec.get("nodeName"):', "if False:", ASKED),
    (
        "kubernetes/pooled/units.py",
        "sorted(replica_ids(job), key=lambda id: id.role is Role.WORKER)",
        "replica_ids(job)",
        UNITS,
    ),
    (
        "kubernetes/pooled/broker.py",
        " and all(share.address for share in self.shares)",
        "",
        "kubernetes/pooled/test_telling.py",
    ),
    (
        "kubernetes/pooled/bearers.py",
        "if not TOKEN.fullmatch(token):",
        "if not token:",
        "kubernetes/pooled/test_bearers.py",
    ),
    ("kubernetes/pooled/units.py", "lent is not None and first + wanted.gpus > lent", "False", UNITS),
    ("kubernetes/pooled/units.py", "return lent is None or first <= lent", "return True", UNITS),
    ("kubernetes/pooled/units.py", " or each.pod.metadata.deletion_timestamp is not None", "", UNITS),
    ("kubernetes/pooled/units.py", "pod.metadata.deletion_timestamp is None and gated", "gated", UNITS),
    ("kubernetes/pooled/units.py", "if any(member.lives for member in unit.members)", "", UNITS),
    (
        "kubernetes/tenants/network.py",
        '"ingress": [{"from": [own]}]',
        '"ingress": [{}]',
        "kubernetes/tenants/test_network.py",
    ),
    (
        "kubernetes/tenants/network.py",
        "        **_namespace(tenant.operator_namespace),\n",
        "",
        "kubernetes/tenants/test_network.py",
    ),
    ("kubernetes/tenants/network.py", '("UDP", "TCP")', '("TCP",)', "kubernetes/tenants/test_network.py"),
    (
        "kubernetes/tenants/quota.py",
        "min(DEFAULT_MEMORY, whole, key=parse_quantity)",
        "DEFAULT_MEMORY",
        "kubernetes/tenants/test_objects.py",
    ),
    ("kubernetes/tenants/storage.py", 'or "false"', 'or "true"', "kubernetes/tenants/test_objects.py"),
    ("resources/tenant.py", 'if name.startswith("system:"):', "if False:", "resources/test_tenant.py"),
    ("kubernetes/operator/reconcile.py", "_with_refusal(told, new)", "told", "kubernetes/operator/test_reconcile.py"),
    (
        "kubernetes/operator/pod_creation.py",
        "            self.forget(stored.metadata.uid)",
        "            pass",
        "kubernetes/operator/test_reconcile.py",
    ),
    ("resources/check.py", "if identity in first:", "if False:", "resources/test_loading.py"),
    ("resources/check.py", "self._unknown(name, path, list(properties))", "pass", "resources/test_rules.py"),
    ("resources/convert.py", "if (fields or names) and not lossy", "if False", "resources/test_convert.py"),
    ("resources/pod_rules.py", "parse_quantity(amount) > parse_quantity(limit)", "False", "resources/test_rules.py"),
    ("resources/pod_rules.py", "name not in volumes", "False", "resources/test_rules.py"),
    ("resources/quantity.py", "Decimal(1024)", "Decimal(1000)", "resources/test_quantity.py"),
    ("resources/rules.py", "and role.count > 1", "and role.count > 2", "resources/test_rules.py"),
    ("resources/rules.py", "not unreadable and", "", "resources/test_rules.py"),
    ("resources/rules.py", "elif len(given) > 1:", "elif False:", "resources/test_rules.py"),
    ("resources/defaulting.py", "{**stored, **{", "{**{", "resources/test_defaulting.py"),
    ("resources/defaulting.py", "and key not in stored and", "and", "resources/test_defaulting.py"),
    ("resources/update_rules.py", "or _suspended(self.after))", ")", "resources/test_update_rules.py"),
    ("resources/update_rules.py", "(_suspended(self.before) or", "(", "resources/test_update_rules.py"),
    ("resources/update_rules.py", "not update.begun or", "", "resources/test_update_rules.py"),
    ("resources/update_rules.py", "manager not in (None, SHOAL_OPERATOR)", "False", "resources/test_update_rules.py"),
    ("resources/update_rules.py", "rules = (*ALWAYS, ", "rules = (", "resources/test_update_rules.py"),
    ("resources/update_rules.py", '{**claim, "size": None}', "claim", "resources/test_update_rules.py"),
    ("certificates.py", "now >= each.made + lives.settling", "True", CERTIFICATES),
    ("certificates.py", "if each.end > now", "if each.due(now) is False", CERTIFICATES),
    ("certificates.py", "all(_general_name(host) in names for host in hosts)", "True", CERTIFICATES),
    ("kubernetes/webhook/review.py", "if finding not in kept", "", "kubernetes/webhook/test_review.py"),
    (
        "kubernetes/webhook/review.py",
        'stored.get("spec") == job.get("spec")',
        "False",
        "kubernetes/webhook/test_review.py",
    ),
    ("resources/yaml_text.py", "elif key.value in entries:", "elif False:", "resources/test_yaml_text.py"),
    (
        "kubernetes/operator/observe.py",
        'or pod.spec.restart_policy == "Never"',
        "",
        "kubernetes/operator/test_observe.py",
    ),
    (
        "resources/tensorboard.py",
        'and not name.startswith("/") and',
        "and",
        "resources/test_tensorboard.py",
    ),
    ("resources/tensorboard_rules.py", 'if "," in folder:', "if False:", "resources/test_tensorboard.py"),
    ("kubernetes/tensorboard.py", '{**mount, "readOnly": True}', "mount", "kubernetes/test_tensorboard.py"),
    ("kubernetes/web_app.py", "prefix(app) or", "False or", "kubernetes/test_tensorboard.py"),
    ("resources/workbench_rules.py", 'if claim.get("readOnly") and', "if False and", "resources/test_workbench.py"),
    ("kubernetes/workbench.py", "0 if bench.spec.stopped else 1", "1", "kubernetes/test_workbench.py"),
    ("kubernetes/workbench.py", "secrets.token_hex(TOKEN_BYTES)", '"0" * 64', "kubernetes/test_workbench.py"),
    (
        "kubernetes/operator/workbenches.py",
        "== (0, 0) and now - end",
        "== (0, 0) or now - end",
        "kubernetes/operator/test_workbenches.py",
    ),
    (
        "kubernetes/operator/workbenches.py",
        'or pod.status.phase == "Failed"',
        "",
        "kubernetes/operator/test_workbenches.py",
    ),
    (
        "kubernetes/operator/workbenches.py",
        '        except AlreadyExistsError:\n            return ""\n',
        "",
        "kubernetes/operator/test_workbenches.py",
    ),
    ("kubernetes/operator/deployed/objects.py", "if _owner(found) != wanted.uid:", "if False:", SERVERS),
    ("kubernetes/operator/serving/reconcile.py", "deployment.spec.replicas if deployment else 0", "0", SERVERS),
    ("kubernetes/operator/deployed/objects.py", "if (kind, key) not in names and", "if False and", SERVERS),
    ("kubernetes/operator/deployed/status.py", "seen.replicas == seen.updated_replicas == wanted", "True", SERVERS),
    ("kubernetes/operator/deployed/status.py", "if before and before.status == word", "if False", SERVERS),
    (
        "kubernetes/operator/serving/of_job.py",
        "found is not None and found != job.name",
        "False",
        "kubernetes/operator/test_reconcile.py",
    ),
    ("kubernetes/serving/pods.py", "annotations[APPLIED_BATCHING] =", "_ =", "kubernetes/test_serving.py"),
    ("kubernetes/serving/routes.py", "for method in METHODS:", "for method in ():", "kubernetes/test_serving.py"),
    ("resources/model_place.py", 'f"{path}/".startswith', "path.startswith", "resources/test_model_server.py"),
    ("code/pack.py", "sorted(folder.iterdir())", "reversed(sorted(folder.iterdir()))", "code/test_pack.py"),
    ("code/pack.py", "path.name in NEVER or ", "", "code/test_pack.py"),
    ("code/pack.py", "in reversed(rules)", "in rules", "code/test_pack.py"),
    ("code/pack.py", "not path.resolve().is_relative_to(folder)", "False", "code/test_pack.py"),
    ("code/unpack.py", "if digest.hexdigest() != expected:", "if False:", "code/test_programs.py"),
    ("code/unpack.py", 'extractall(folder, filter="data")', "extractall(folder)", "code/test_programs.py"),
    ("code/unpack.py", '".." in name.parts', "False", "code/test_programs.py"),
    ("code/receive.py", "if digest.hexdigest() != expected:", "if False:", "code/test_programs.py"),
    ("code/git.py", 'f"refs/tags/{wanted}", f"refs/heads/{wanted}"', 'f"refs/heads/{wanted}"', "code/test_git.py"),
    ("local/plan.py", "if job.spec.code else self.run.source", "if False else self.run.source", "local/test_plan.py"),
    (
        "kubernetes/operator/reconcile.py",
        "ended and outlived and",
        "ended and",
        "kubernetes/operator/test_reconcile.py",
    ),
    ("kubernetes/operator/observe.py", "restart_count - lost", "restart_count", "kubernetes/operator/test_observe.py"),
    (
        "kubernetes/operator/replica_pods.py",
        "{protocol.ATTEMPT: str(create.attempt)}",
        "{}",
        "kubernetes/operator/test_replica_pods.py",
    ),
    ("local/ahead.py", "if read_at_import(name):", "if False:", "local/test_ahead.py"),
    ("local/command.py", "return env | dict(given)", "return dict(given) | env", "local/test_command.py"),
    ("local/command.py", 'return "$" if name is None', 'return "$$" if name is None', "local/test_command.py"),
    ("local/listing.py", "and phase is not Phase.SUSPENDED", "", "local/test_runs.py"),
    ("local/manifests.py", "or version != self._version", "", "local/test_runs.py"),
    ("local/orphans.py", '.split(b"\\0")', "", "local/test_orphans.py"),
    ("local/orphans.py", "if pid == os.getpid():", "if pid != os.getpid():", "local/test_orphans.py"),
    ("local/plan.py", "choose(len(missing), taken)", "choose(len(missing))", "local/test_plan.py"),
    ("local/progress.py", "and id not in self._speaking", "", "local/test_progress.py"),
    ("local/progress.py", "self._inode not in (None, found.st_ino)", "False", "local/test_progress.py"),
    ("local/runs.py", "Path(fresh).replace(path)", "path.write_text(text)", "local/test_runs.py"),
    ("local/runs.py", 're.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name)', "True", "local/test_runs.py"),
    ("local/volumes.py", "(?![\\w.-])", "", "local/test_volumes.py"),
    ("local/volumes.py", "/ str(id)", "", "local/test_volumes.py"),
    ("local/volumes.py", 'or ".." in Path(path).parts', "", "local/test_volumes.py"),
    ("kubernetes/clusters/room.py", "key=_size, reverse=True", "key=_size", "kubernetes/clusters/test_choice.py"),
    (
        "kubernetes/clusters/room.py",
        "total[resource] = max(",
        "total[resource] = min(",
        "kubernetes/clusters/test_choice.py",
    ),
    (
        "kubernetes/clusters/room.py",
        "any(_meets(node.labels, term)",
        "all(_meets(node.labels, term)",
        "kubernetes/clusters/test_choice.py",
    ),
    (
        "kubernetes/clusters/room.py",
        'not in ("NoSchedule", "NoExecute")',
        'not in ("NoSchedule",)',
        "kubernetes/clusters/test_choice.py",
    ),
    ("kubernetes/clusters/choice.py", "2 if room.known else 1", "2", "kubernetes/clusters/test_choice.py"),
    (
        "kubernetes/clusters/choice.py",
        "not devices and not _has_devices(room)",
        "False",
        "kubernetes/clusters/test_choice.py",
    ),
    ("kubernetes/clusters/many.py", "if len(answers.found) > 1:", "if False:", "kubernetes/clusters/test_many.py"),
    ("kubernetes/clusters/many.py", "self._home(names) or", "", "kubernetes/clusters/test_many.py"),
    ("kubernetes/clusters/asking.py", "cluster.abandon()", "pass", "kubernetes/clusters/test_many.py"),
    ("pool/candidates.py", "& (cpu >= request.cpu_milli)", "", "pool/test_placement.py"),
    (
        "pool/candidates.py",
        "inventory.usable[rows] & inventory.taking[rows, None]",
        "inventory.usable[rows]",
        "pool/test_placement.py",
    ),
    ("pool/candidates.py", "there = has_room & (before.models == model)", "there = has_room", "pool/test_placement.py"),
    (
        "pool/candidates.py",
        "kept.seen = inventory.changes",
        "kept.seen = inventory.changes + 1",
        "pool/test_placement.py",
    ),
    ("pool/candidates.py", "np.lexsort((tightness, price, of))", "np.lexsort((price, of))", "pool/test_policies.py"),
    ("pool/placement.py", "inventory.memory >= request.memory_mib", "True", "pool/test_placement.py"),
    ("pool/placement.py", "& (inventory.model == model)", "", "pool/test_placement.py"),
    ("pool/placement.py", "and request.locality is not Locality.DEMAND", "", "pool/test_placement.py"),
    ("pool/placement.py", "if best is None or hosts < best[0]:", "if best is None:", "pool/test_placement.py"),
    (
        "pool/inventory.py",
        "cells[self.row[share.host], share.gpu] += ",
        "cells[self.row[share.host], share.gpu] = ",
        "pool/test_placement.py",
    ),
    ("pool/inventory.py", "self._touch([row])", "pass", "pool/test_placement.py"),
    ("pool/gang.py", ", reverse=True)", ")", "pool/test_gang.py"),
    ("pool/gang.py", "            inventory.release(placement)", "            pass", "pool/test_gang.py"),
    ("pool/policies/fgd.py", "(kinds.gpus > 0) & ", "", "pool/test_policies.py"),
    ("pool/policies/fgd.py", "free >= kinds.milli", "free > kinds.milli", "pool/test_policies.py"),
    ("pool/policies/shadow_price.py", "if self.cpu_of_gpu:", "if False:", "pool/test_policies.py"),
    ("pool/policies/shadow_price.py", "prices[-1] = 1.0", "pass", "pool/test_policies.py"),
    ("pool/policies/shadow_price.py", "if worth[WHOLE] <= 1 + ROUNDING:", "if True:", "pool/test_policies.py"),
    ("pool/replay.py", "if task.request in refused else", "if refused else", "pool/test_replay.py"),
    ("pool/brokerage.py", "if now >= expires_at:", "if False:", "pool/test_leases.py"),
    ("pool/brokerage.py", "if now >= lost_at:", "if False:", "pool/test_leases.py"),
    ("pool/brokerage.py", "if now >= removed_at:", "if False:", "pool/test_leases.py"),
    ("pool/brokerage.py", 'lease.reclaim_at, lease.notice = None, ""', "pass", "pool/test_leases.py"),
    ("pool/brokerage.py", "if now >= silent_at and not host.silent:", "if False:", "pool/test_leases.py"),
    ("pool/holdings.py", "or answer.number != self._number", "", "pool/test_leases.py"),
    ("pool/holdings.py", "{grant.lease: _Holding(grant) for grant in self.kept}", "{}", "pool/test_leases.py"),
    ("pool/holdings.py", "each.ended and each.told", "each.ended", "pool/test_leases.py"),
    ("pool/holdings.py", "self._held[lease].ended = True", "del self._held[lease]", "pool/test_leases.py"),
    ("pool/holdings.py", "if self._fits(grant):", "if True:", "pool/test_leases.py"),
    ("pool/ledger.py", "if report.number <= session.number:", "if False:", "pool/test_leases.py"),
    ("pool/ledger.py", "session.current or not report.session:", "None and False:", "pool/test_leases.py"),
    ("pool/ledger.py", "if lease.live and lease.holds[host] is Hold.SENT:", "if False:", "pool/test_leases.py"),
    (
        "pool/ledger.py",
        "if lease.live and lease.holds[host] is Hold.SENT:",
        "if lease.live:",
        "pool/test_leases.py",
    ),
    ("pool/ledger.py", "        if twice:", "        if False:", "pool/test_leases.py"),
    ("pool/brokerage.py", "if settling(ledger, now):", "if False:", "pool/test_leases.py"),
    ("pool/ledger.py", "if other in self.hosts:", "if False:", "pool/test_leases.py"),
    ("pool/ledger.py", "known.shares == held.grant.shares", "True", "pool/test_leases.py"),
    ("pool/ledger.py", "self.silent or self.amiss", "self.silent", "pool/test_leases.py"),
    (
        "pool/ledger.py",
        "            self.stirred |= lease.holds.keys()\n\n    def set_quota",
        "            self.stirred |= lease.holds.keys()\n            for host in list(lease.holds):\n"
        "                self._vacate(lease, host)\n\n    def set_quota",
        "pool/test_leases.py",
    ),
    ("pool/ledger.py", "tuple(lease.grant for lease in leases if lease.live)", "()", "pool/test_leases.py"),
    ("pool/queue.py", "lease.priority + int(", "lease.priority + 0 * int(", "pool/test_queue.py"),
    ("pool/queue.py", "(used[tenant].milli, tenants", "(0, tenants", "pool/test_queue.py"),
    ("pool/queue.py", "                line.look_again()\n", "", "pool/test_queue.py"),
    ("pool/queue.py", ">= ledger.terms.patience:", "< 0:", "pool/test_queue.py"),
    ("pool/queue.py", "and key not in beyond", "", "pool/test_queue.py"),
    ("pool/queue.py", "and _possible(ledger.empty, lease.requests)", "", "pool/test_queue.py"),
    (
        "pool/queue.py",
        "                ledger.due(lease.asked_at + ledger.terms.patience)",
        "                pass",
        "pool/test_queue.py",
    ),
    ("gpu/trace.py", "if leaves < arrives:", "if False:", "gpu/test_trace.py"),
    ("gpu/broker.py", "self.now() - min(first)", "self.now() - max(first)", "gpu/test_broker_metrics.py"),
    ("gpu/broker.py", "sum(not gpu.healthy for", "sum(gpu.healthy for", "gpu/test_broker_metrics.py"),
    ("gpu/broker.py", "self._ended.labels(state.value)\n", "pass\n", "gpu/test_broker_metrics.py"),
    ("kubernetes/operator/job_metrics.py", "if phase not in FINAL:", "if True:", MONITORING),
    ("kubernetes/operator/job_metrics.py", "filter(is_ours, self._jobs())", "self._jobs()", MONITORING),
    ("kubernetes/operator/job_metrics.py", "known.version != job.metadata.resource_version", "False", MONITORING),
    ("kubernetes/monitoring/rules.py", 'absent(shoal_operator_leader)"', 'absent(shoal_operator_leads)"', MONITORING),
    ("kubernetes/monitoring/dashboard.py", "y += tallest", "y += 1", MONITORING),
    ("gpu/trace.py", "if None in cells:", "if False:", "gpu/test_trace.py"),
    (
        "kubernetes/operator/serving/served.py",
        "generation != about.generation or",
        "",
        "kubernetes/operator/test_served.py",
    ),
    (
        "kubernetes/operator/serving/served.py",
        "SETTLED_SECONDS if rests",
        "CHANGING_SECONDS if rests",
        "kubernetes/operator/test_served.py",
    ),
    (
        "kubernetes/operator/serving/served.py",
        "return ready and bool",
        "return bool",
        "kubernetes/operator/test_served.py",
    ),
    (
        "kubernetes/operator/serving/served.py",
        "or not deployment.status.ready_replicas",
        "",
        "kubernetes/operator/test_served.py",
    ),
    ("bench/record.py", '0 if "ps" in self.roles else self.roles.get("chief", 0)', "0", "bench/test_record.py"),
    ("resources/served_models.py", 'if each.state != "END" or each.message', "", "resources/test_served_models.py"),
    (
        "resources/served_models.py",
        "sorted(counts.items(), reverse=True)",
        "sorted(counts.items())",
        "resources/test_served_models.py",
    ),
    ("bench/timing.py", "images / fmean(seconds)", "fmean(speeds)", "bench/test_timing.py"),
    ("bench/timing.py", "blocks = min(BLOCKS, len(seconds) // 2)", "blocks = len(seconds)", "bench/test_timing.py"),
    ("bench/record.py", "/ part.steps, 3)", ", 3)", "bench/test_record.py"),
    ("bench/record.py", "abs(self.ratio - 1) > self.sure", "self.ratio != 1", "bench/test_record.py"),
    ("bench/job.py", 'roles.setdefault("chief", 1)', "pass", "bench/test_options.py"),
    ("cli/bench_flags.py", "value and value.lower() not in FALSE", "value", "cli/test_bench_flags.py"),
    ("cli/bench_flags.py", 'wanted[0].startswith("--")', 'wanted[0].startswith("-")', "cli/test_bench_flags.py"),
    ("cli/bench_flags.py", "NO_EFFECT_SWITCHES | REFUSED_SWITCHES:", "NO_EFFECT_SWITCHES:", "cli/test_bench_flags.py"),
    (
        "cli/bench_flags.py",
        "has_value else _next(flag, wanted)).lower()",
        "has_value else _next(flag, wanted))",
        "cli/test_bench_flags.py",
    ),
    ("serving/versions.py", "and (served or not wanted)", "", "serving/test_versions.py"),
    ("serving/versions.py", "reverse=True", "reverse=False", "serving/test_versions.py"),
    ("serving/versions.py", "if look != before:", "if False:", "serving/test_versions.py"),
    ("serving/versions.py", "or now - since >= SETTLE_SECONDS", "", "serving/test_versions.py"),
    ("serving/versions.py", ", re.ASCII", "", "serving/test_versions.py"),
    ("serving/versions.py", "-(2**63) <= number < 2**63", "True", "serving/test_versions.py"),
    ("serving/batching.py", "if self._waiting or self._busy >= self._threads:", "if True:", "serving/test_batching.py"),
    ("serving/batching.py", "batch.full or batch.due <= now", "True", "serving/test_batching.py"),
    ("serving/batching.py", "array.ndim if pad else array.shape[1:]", "array.ndim", "serving/test_batching.py"),
    ("serving/batching.py", "batch.rows >= self._parameters.execution_size", "False", "serving/test_batching.py"),
    ("serving/batching.py", "self._run_each(alive, fetches)", "alive[0].error = fault", "serving/test_batching.py"),
    ("serving/batching.py", "start += call.rows", "pass", "serving/test_batching.py"),
    ("serving/batching.py", "or now < call.deadline", "or True", "serving/test_batching.py"),
    ("serving/batching.py", "until(_last_deadline(alive))", "until(None)", "serving/test_batching.py"),
    ("serving/batching.py", "with until(call.deadline):", "if True:", "serving/test_batching.py"),
    (
        "serving/batching.py",
        "if self.ended.acquire(timeout=left)",
        "if self.ended.acquire()",
        "serving/test_batching.py",
    ),
    ("serving/batching.py", "if batches}", "}", "serving/test_batching.py"),
    ("serving/batching.py", "if rows > room and waiting >= most:", "if False:", "serving/test_batching.py"),
    ("serving/batching.py", "array.flat[0], array.dtype", "0, array.dtype", "serving/test_batching.py"),
    ("serving/batching_parameters.py", "after <= before", "False", "serving/test_batching_parameters.py"),
    (
        "serving/workers.py",
        "set(self._members) - have",
        "set(self._members) if not have else set()",
        "serving/test_workers.py",
    ),
    ("serving/workers.py", "self._models, self._labels = models, labels", "pass", "serving/test_workers.py"),
    ("serving/workers.py", "check_unchanged(version.folder)", "pass", "serving/test_workers.py"),
    ("serving/metrics.py", 'f"{metric.name}_total"', '""', "serving/test_workers.py"),
    ("serving/workers.py", '_tell(have | self._now(), "unload", key)', "pass", "serving/test_workers.py"),
    ("serving/batching_parameters.py", "allowed[-1] != largest", "False", "serving/test_batching_parameters.py"),
    ("serving/model_config.py", "if config.name in names:", "if False:", "serving/test_model_config.py"),
    ("serving/model_config.py", "not Path(config.base_path).is_absolute()", "False", "serving/test_model_config.py"),
    ("serving/json_faults.py", "kind is int or", "kind in (int, bool) or", "serving/test_json_tensor.py"),
    ("serving/json_faults.py", 'and value.keys() == {"b64"}', 'and "b64" in value', "serving/test_json_tensor.py"),
    ("serving/json_tensor.py", "if len(lengths) != 1:", "if False:", "serving/test_json_tensor.py"),
    ("serving/json_tensor.py", "or np.isfinite(array).all()", "or True", "serving/test_json_tensor.py"),
    ("serving/json_tensor.py", 'array.astype("U").astype(np.float64)', "array", "serving/test_json_tensor.py"),
    ("serving/json_tensor.py", 'name.endswith("_bytes")', "False", "serving/test_json_tensor.py"),
    ("serving/json_tensor.py", "len(output) != size", "False", "serving/test_json_tensor.py"),
    ("serving/json_tensor.py", "row.keys() != inputs.keys()", "False", "serving/test_json_tensor.py"),
    ("pool/lease.py", "LeaseState.RUNNING))", "LeaseState.RUNNING, LeaseState.RELEASED))", "web/test_pool.py"),
    ("web/views.py", "look.phase == Phase.RUNNING", "True", "web/test_pages.py"),
    ("local/history.py", "if sum(each.loss is not None for each in lines) >= 2:", "if lines:", "web/test_pages.py"),
    (
        "cuda/soft/compile/rounding.py",
        "b.select(b.and_(inexact, even), neighbour, pattern)",
        "pattern",
        "cuda/soft/test_floats.py",
    ),
    ("cuda/soft/compile/rounding.py", "I32(0x7FFF)", "I32(0x8000)", "cuda/soft/test_floats.py"),
    (
        "cuda/soft/compile/floats.py",
        'minus = b.and_(b.fcmp_ordered("==", exact, F64(0.0)), b.icmp_signed("<", negative, I64(0)))',
        'minus = b.icmp_signed("<", negative, I64(0))',
        "cuda/soft/test_floats.py",
    ),
    ("cuda/soft/compile/integers.py", "e.load(CARRY) if reads else I1(0)", "I1(0)", "cuda/soft/test_integers.py"),
    (
        "cuda/soft/compile/bits.py",
        'return moved if how == "ashr" else e.builder.select(over, value.type(0), moved)',
        "return moved",
        "cuda/soft/test_integers.py",
    ),
    (
        "cuda/soft/compile/memory.py",
        'b.icmp_unsigned("<=", end, allowed)',
        'b.icmp_unsigned("<=", end, I64(GRANULE))',
        "cuda/soft/test_access.py",
    ),
    ("cuda/soft/compile/memory.py", "if reason is Reason.LOAD:", "if True:", "cuda/soft/test_access.py"),
    (
        "cuda/soft/compile/warp.py",
        "b.shl(I32(1), lane)), total)",
        "b.shl(I32(1), I32(0))), total)",
        "cuda/soft/test_warps.py",
    ),
    ("cuda/soft/compile/scheduler.py", "b.and_(mask, self.get(live))", "mask", "cuda/soft/test_warps.py"),
    (
        "cuda/soft/compile/scheduler.py",
        'b.store(zero, self.cell("arrived", number))\n            b.store(zero, done)',
        "b.store(zero, done)",
        "cuda/soft/test_warps.py",
    ),
    ("cuda/soft/compile/table.py", "if self.left:", "if False:", "cuda/soft/test_ptx.py"),
    (
        "cuda/soft/ptx/liveness.py",
        "frozenset(results_of(op)) if op.guard is None else frozenset()",
        "frozenset(results_of(op))",
        "cuda/soft/test_warps.py",
    ),
    ("cuda/soft/ptx/liveness.py", "yield from _registers(op.guard)", "pass", "cuda/soft/test_warps.py"),
    ("cuda/soft/ptx/parser.py", "align = align if pointer else stated", "align = stated", "cuda/soft/test_access.py"),
    (
        "cuda/soft/ptx/parser.py",
        "value.offset + self.offset()",
        "value.offset + 0 * self.offset()",
        "cuda/soft/test_kernels.py",
    ),
    ("cuda/soft/ptx/flat.py", "if name in self.calls:", "if False:", "cuda/soft/test_ptx.py"),
    ("cuda/soft/memory.py", "        self._allow(first, whole, 0)\n", "", "cuda/soft/test_memory.py"),
    ("cuda/soft/memory.py", "if size % GRANULE:", "if False:", "cuda/soft/test_memory.py"),
    (
        "cuda/soft/memory.py",
        "        self._forget(address - self.base, whole * GRANULE)\n",
        "",
        "cuda/soft/test_memory.py",
    ),
    ("cuda/soft/memory.py", "if address + size > base + whole:", "if False:", "cuda/soft/test_memory.py"),
    (
        "cuda/soft/memory.py",
        "(first + whole + 1, count - whole - 1)",
        "(first + whole, count - whole)",
        "cuda/soft/test_memory.py",
    ),
    ("cuda/soft/streams.py", " if each.blocking]", "]", "cuda/soft/test_streams.py"),
    ("cuda/soft/streams.py", "elif stream.blocking:", "elif False:", "cuda/soft/test_streams.py"),
    (
        "cuda/soft/streams.py",
        "(*self._streams.values(), *self._leaving) if each.blocking",
        "self._streams.values() if each.blocking",
        "cuda/soft/test_streams.py",
    ),
    ("cuda/soft/streams.py", "(work.always or not self._fault)", "True", "cuda/soft/test_streams.py"),
    ("cuda/soft/streams.py", "(work.always or not self._fault)", "not self._fault", "cuda/soft/test_streams.py"),
    ("cuda/soft/streams.py", "if not self._closed and (", "if (", "cuda/soft/test_streams.py"),
    ("cuda/soft/streams.py", "soon and all(each.done for each in work.after)", "soon", "cuda/soft/test_streams.py"),
    ("cuda/soft/streams.py", "(*self._before(found), *after)", "self._before(found)", "cuda/soft/test_streams.py"),
    ("cuda/soft/streams.py", " or not event.timed", "", "cuda/soft/test_streams.py"),
    ("cuda/soft/images.py", " if each.arch <= capability), found[0])", "), found[0])", "cuda/soft/test_images.py"),
    ("cuda/soft/images.py", "for each in reversed(found) if", "for each in found if", "cuda/soft/test_images.py"),
    ("cuda/soft/images.py", 'image.partition(b"\\0")[0].decode()', "image.decode()", "cuda/soft/test_images.py"),
    ("cuda/soft/images.py", "if end > len(image):", "if False:", "cuda/soft/test_images.py"),
    ("cuda/soft/images.py", "at + header + padded > end", "False", "cuda/soft/test_images.py"),
    (
        "cuda/soft/run.py",
        "if threads > min(MAX_THREADS, self.kernel.max_threads):",
        "if False:",
        "cuda/soft/test_driver.py",
    ),
    ("cuda/soft/run.py", "if self.kernel.block not in (None, self.block):", "if False:", "cuda/soft/test_driver.py"),
    ("cuda/soft/run.py", "if not 0 <= self.shared_bytes <= self.most_shared:", "if False:", "cuda/soft/test_driver.py"),
    (
        "cuda/soft/run.py",
        "if len(self.arguments) < self.kernel.parameter_bytes:",
        "if False:",
        "cuda/soft/test_driver.py",
    ),
    (
        "cuda/soft/context.py",
        "        self._streams.synchronize()\n        self._memory.free",
        "        self._memory.free",
        "cuda/soft/test_driver.py",
    ),
    ("cuda/soft/context.py", "kept = bytes(view)", "kept = view", "cuda/soft/test_driver.py"),
    ("cuda/soft/context.py", "if self._streams.ready(stream):", "if True:", "cuda/soft/test_driver.py"),
    (
        "cuda/soft/context.py",
        "None if streams.ready(stream) else streams.submit(stream, self._copy)",
        "None",
        "cuda/soft/test_driver.py",
    ),
    ("cuda/soft/shared.py", "if static > STATIC_BYTES:", "if False:", "cuda/soft/test_driver.py"),
    ("cuda/soft/shared.py", "OPT_IN_BYTES - static:", "OPT_IN_BYTES + 1:", "cuda/soft/test_driver.py"),
    ("cuda/soft/printf.py", "self._at = -(-self._at // size) * size", "pass", "cuda/soft/test_printf.py"),
    ("cuda/soft/printf.py", 'flags + b"-" * (given < 0)', "flags", "cuda/soft/test_printf.py"),
    ("cuda/soft/faults.py", "if fault.misaligned:", "if False:", "cuda/soft/test_faults.py"),
]


class Mutant(NamedTuple):
    """One edit of a file under `src/shoal`, and the suites that are asked about it, the quickest first."""

    file: str
    before: str
    after: str
    suites: tuple[list[str], ...]


MUTANTS = [
    *(
        Mutant(f"training/{file}", before, after, ([f"--ignore={HISTORIES}", "tests/unit/training"], [HISTORIES]))
        for file, before, after in TRAINING
    ),
    *(Mutant(file, before, after, ([f"tests/unit/{tests}"],)) for file, before, after, tests in ELSEWHERE),
]


def survives(mutant: Mutant) -> bool:
    """Whether the suites pass with the mutant in place."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        # With their bytecode, which is half of the time that a suite of a second takes.
        shutil.copytree(ROOT / "src", Path(folder, "src"), copy_function=_link)
        shutil.copytree(ROOT / "tests" / "unit", Path(folder, "tests", "unit"), copy_function=_link)
        for name in ("conftest.py", "__init__.py"):
            shutil.copy(ROOT / "tests" / name, Path(folder, "tests"))
        target = Path(folder, "src", "shoal", mutant.file)
        text = target.read_text()
        if mutant.before not in text:
            raise SystemExit(
                f"error: {mutant.file} no longer contains {mutant.before!r}\n"
                f"hint: bring the list in {__file__} up to date"
            )
        target.unlink()
        target.write_text(text.replace(mutant.before, mutant.after))
        environment = {**os.environ, "PYTHONPATH": str(Path(folder, "src"))}
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--hypothesis-profile=mutants"]
        runs = (subprocess.run([*command, *s], cwd=folder, env=environment, capture_output=True) for s in mutant.suites)
        return all(run.returncode == 0 for run in runs)


def _link(source: str, target: str) -> None:
    """The same file, where both are on one device. Python writes no bytecode into a file that is there."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def main() -> int:
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [mutant for mutant in MUTANTS if word in mutant.file]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        alive = [mutant for mutant, lives in zip(chosen, pool.map(survives, chosen), strict=True) if lives]
    for mutant in alive:
        print(f"survived: {mutant.file}: {mutant.before!r} → {mutant.after!r}")
    print(f"{len(chosen) - len(alive)} of {len(chosen)} mutants were caught")
    return 1 if alive or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
