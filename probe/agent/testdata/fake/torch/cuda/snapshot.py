"""memory._snapshot of a release, without its segments."""

from .caching import FRAMES

ROUNDUP = {str(1 << n): 0 for n in range(16)}


def settings(release, text):
    found = {"PYTORCH_CUDA_ALLOC_CONF": text, "max_split_size": -1}
    if release >= (2, 8):
        found.update(garbage_collection_threshold=0.0, expandable_segments="expandable_segments:True" in text,
                     pinned_num_register_threads=1, release_lock_on_cudamalloc=False, pinned_use_cuda_host_register=False,
                     roundup_power2_divisions=dict(ROUNDUP))
    if release > (2, 8):  # 2.15 has them
        found.update(graph_capture_record_stream_reuse=False, max_round_threshold=-1, max_cached_size=-1)
    return found


def event(release, number, size):
    """The entry of an allocation in the recorded history."""
    size, address, frames = size if isinstance(size, tuple) else (size, number, FRAMES)
    made = {"action": "alloc", "addr": address, "size": size, "stream": 0, "time_us": number, "frames": frames}
    if release >= (2, 8):
        made["compile_context"] = "N/A"
    if release > (2, 8):
        made.update(user_metadata="", pool_id=(0, 0))
    return made


def whole(release, segments, traces, text):
    made = {"segments": segments, "device_traces": traces}
    if release >= (2, 1):
        made["allocator_settings"] = settings(release, text)
    if release >= (2, 8):
        made["external_annotations"] = []
    if release > (2, 8):
        made.update(host_segments=[], host_traces=[])
    return made
