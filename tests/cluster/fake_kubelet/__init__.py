"""A kubelet that runs nothing: it registers nodes and moves their pods through their lives by the API alone.

A thousand pods cost it a thousand small tasks. What a pod does is said by annotations, see `script`; a pod without them
runs until it is deleted. Restarts, back-off, init containers, phases and conditions follow what the kubelet documents;
back-off starts at a fraction of a second, since tests wait for it.
"""
