"""Real containers on the node: their ends, their words, and their names on the network."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest

from tests.cluster.binaries import kubernetes_version
from tests.cluster.busybox import BUSYBOX, busybox
from tests.cluster.images import Image, layer_of
from tests.cluster.kubectl import Kubectl
from tests.cluster.node_level.cluster import NodeCluster
from tests.cluster.pods import container, pod


def shell(name: str, script: str, restart: str = "Never", **more: Any) -> dict[str, Any]:
    """A pod that runs a script in the busybox image."""
    main = container(image=BUSYBOX, command=["sh", "-c", script], imagePullPolicy="Never", **more)
    return pod(name, [main], restart, labels={"app": name}, terminationGracePeriodSeconds=1)


def phase(expected: str) -> Any:
    return lambda each: each["status"].get("phase") == expected


def ended(found: Any) -> Any:
    return found["status"]["containerStatuses"][0]["state"]["terminated"]


def test_a_pod_runs_to_its_end_and_its_log_stays(namespace: Kubectl) -> None:
    namespace.apply(shell("speaks", "echo to be read; exit 0"))
    namespace.wait_for("pod/speaks", phase("Succeeded"))
    assert namespace("logs", "speaks") == "to be read\n"


def test_the_exit_code_is_reported(namespace: Kubectl) -> None:
    namespace.apply(shell("fails", "echo the reason > /dev/termination-log; exit 3"))
    found = ended(namespace.wait_for("pod/fails", phase("Failed")))
    assert (found["exitCode"], found["reason"], found["message"]) == (3, "Error", "the reason\n")


def test_too_much_memory_is_named(namespace: Kubectl) -> None:
    limits = {"limits": {"memory": "16Mi"}}
    namespace.apply(shell("greedy", "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done", resources=limits))
    found = ended(namespace.wait_for("pod/greedy", phase("Failed")))
    assert (found["exitCode"], found["reason"]) == (137, "OOMKilled")


def test_a_failed_container_is_restarted_in_place(namespace: Kubectl) -> None:
    manifest = shell("again", "test -e /state/seen && exit 0; touch /state/seen; exit 1", "OnFailure")
    manifest["spec"]["containers"][0]["volumeMounts"] = [{"name": "state", "mountPath": "/state"}]
    manifest["spec"]["volumes"] = [{"name": "state", "emptyDir": {}}]
    namespace.apply(manifest)
    found = namespace.wait_for("pod/again", phase("Succeeded"))
    assert found["status"]["containerStatuses"][0]["restartCount"] == 1


def test_exec_and_copy_of_files(namespace: Kubectl) -> None:
    namespace.apply(shell("waits", "sleep 600"))
    namespace("wait", "--for=condition=Ready", "pod/waits", "--timeout=30s")
    assert namespace("exec", "waits", "--", "cat", "/proc/1/comm").strip() == "sleep"
    namespace("exec", "-i", "waits", "--", "sh", "-c", "cat > /tmp/file", stdin="some text")
    assert namespace("exec", "waits", "--", "cat", "/tmp/file") == "some text"


def test_configuration_and_secrets_arrive_as_files(namespace: Kubectl) -> None:
    namespace("create", "configmap", "settings", "--from-literal=steps=100")
    namespace("create", "secret", "generic", "token", "--from-literal=value=hidden")
    manifest = shell("reads", "cat /settings/steps /token/value")
    manifest["spec"]["volumes"] = [
        {"name": "settings", "configMap": {"name": "settings"}},
        {"name": "token", "secret": {"secretName": "token"}},
    ]
    mounts = [{"name": each, "mountPath": f"/{each}"} for each in ("settings", "token")]
    manifest["spec"]["containers"][0]["volumeMounts"] = mounts
    namespace.apply(manifest)
    namespace.wait_for("pod/reads", phase("Succeeded"))
    assert namespace("logs", "reads") == "100hidden"


def test_a_service_leads_to_its_pod_by_name(namespace: Kubectl) -> None:
    serve = "mkdir /www; echo found > /www/index.html; httpd -f -p 8080 -h /www"
    port = {"containerPort": 8080}
    probe = {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1}
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "page"},
        "spec": {"selector": {"app": "page"}, "ports": [{"port": 80, "targetPort": 8080}]},
    }
    namespace.apply(shell("page", serve, ports=[port], readinessProbe=probe), service)
    namespace("wait", "--for=condition=Ready", "pod/page", "--timeout=30s")
    script = "for try in 1 2 3 4 5 6 7 8 9 10; do wget -q -O - http://page && exit 0; sleep 1; done; exit 1"
    namespace.apply(shell("asks", script))
    namespace.wait_for("pod/asks", phase("Succeeded"))
    assert namespace("logs", "asks").splitlines()[-1] == "found"


def test_a_headless_service_names_each_pod(namespace: Kubectl) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "ring"},
        "spec": {
            "clusterIP": "None",
            "selector": {"app": "member"},
            "ports": [{"port": 2222}],
            "publishNotReadyAddresses": True,
        },
    }
    member = shell("member", "sleep 600")
    member["spec"] |= {"hostname": "first", "subdomain": "ring"}
    namespace.apply(service, member)
    found = namespace.wait_for("pod/member", phase("Running"))
    name = f"first.ring.{namespace.namespace}.svc.cluster.local"
    script = f"for try in 1 2 3 4 5 6 7 8 9 10; do nslookup {name} && exit 0; sleep 1; done; exit 1"
    namespace.apply(shell("looks-up", script))
    namespace.wait_for("pod/looks-up", phase("Succeeded"))
    assert found["status"]["podIP"] in namespace("logs", "looks-up")


def test_a_pod_reaches_the_api_server_with_its_own_account(namespace: Kubectl) -> None:
    token = "/var/run/secrets/kubernetes.io/serviceaccount/token"
    ask = 'wget -O - --header "Authorization: Bearer $(cat $TOKEN)" https://kubernetes.default.svc/version'
    script = f"TOKEN={token}; test -s $TOKEN && {ask}"
    namespace.apply(shell("inside", script))
    namespace.wait_for("pod/inside", phase("Succeeded"))
    assert kubernetes_version() in namespace("logs", "inside")


def test_a_kubelet_that_restarts_leaves_its_pods_alone(node_cluster: NodeCluster, namespace: Kubectl) -> None:
    namespace.apply(shell("endures", "sleep 600"))
    before = namespace.wait_for("pod/endures", phase("Running"))["status"]["containerStatuses"][0]
    node_cluster.restart_kubelet()
    namespace.apply(shell("later", "exit 0"))
    namespace.wait_for("pod/later", phase("Succeeded"), timeout=60)
    after = namespace.json("get", "pod/endures")["status"]["containerStatuses"][0]
    assert (after["containerID"], after["restartCount"]) == (before["containerID"], 0)


def test_a_pod_reaches_a_program_of_the_machine(node_cluster: NodeCluster, namespace: Kubectl) -> None:
    with socket.create_server((node_cluster.host_address, 0)) as server:
        port = server.getsockname()[1]
        namespace.apply(shell("calls", f"echo hello | nc {node_cluster.host_address} {port}"))
        server.settimeout(30)
        connection, _ = server.accept()
        with connection:
            assert connection.recv(100) == b"hello\n"


def test_device_plugins_find_the_kubelet(node_cluster: NodeCluster) -> None:
    with socket.socket(socket.AF_UNIX) as plugin:
        plugin.connect(str(node_cluster.device_plugins / "kubelet.sock"))


def test_an_image_is_made_of_a_folder(node_cluster: NodeCluster, namespace: Kubectl, tmp_path: Any) -> None:
    (tmp_path / "greeting").write_text("hello from a layer\n")
    base = busybox()
    image = Image("shoal.test/greeting:1", [*base.layers, layer_of(tmp_path, "opt")], ["cat", "/opt/greeting"])
    node_cluster.load(image)
    namespace.apply(pod("greets", [container(image=image.name, imagePullPolicy="Never")]))
    namespace.wait_for("pod/greets", phase("Succeeded"))
    assert namespace("logs", "greets") == "hello from a layer\n"


@pytest.mark.parametrize("count", [10])
def test_starting_a_pod_takes_little_time(namespace: Kubectl, count: int) -> None:
    begin = time.monotonic()
    spec = {
        "completions": count,
        "parallelism": count,
        "template": {"spec": shell("x", "exit 0")["spec"]},
    }
    namespace.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "many"}, "spec": spec})
    namespace.wait_for("job/many", lambda each: each["status"].get("succeeded") == count, timeout=120)
    print(f"{count} pods in {time.monotonic() - begin:.1f} s")
