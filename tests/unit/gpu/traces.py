"""A trace small enough to read."""

from __future__ import annotations

from pathlib import Path

NODES = """sn,cpu_milli,memory_mib,gpu,model
n0,16000,32768,2,T4
n1,32000,65536,4,G2
n2,8000,16384,0,
"""

TASKS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
p0,4000,1024,1,1000,,LS,Running,0,100,0
p1,2000,1024,1,470,T4|G2,LS,Running,10,200,10
p2,8000,1024,2,1000,G2,LS,Running,20,,20
p3,4000,1024,0,0,,BE,Running,30,40,30
p4,1000,1024,1,160,,BE,Running,40,50,40
"""

PUBLISHED = """workload,policy,gpu_demand_percent,mean_allocated_percent,min,max,runs
tiny_pod_list_default,FGD,130,90.5,90,91,10
tiny_pod_list_default,BestFit,130,80.25,80,81,10
"""


def tiny(folder: Path) -> Path:
    """Two variants, one of them without models and times, and published figures for the other."""
    (folder / "tiny_node_list.csv").write_text(NODES)
    (folder / "tiny_pod_list_default.csv").write_text(TASKS)
    bare = "\n".join(",".join(line.split(",")[:5]) for line in TASKS.splitlines())
    (folder / "tiny_pod_list_bare.csv").write_text(bare + "\n")
    (folder / "published_allocation_percent.csv").write_text(PUBLISHED)
    return folder
