"""This machine and process: processors, memory, disk, names."""

from apps.core.machine.cpus import bind_to_processor, cpu_count
from apps.core.machine.disk import free_disk_bytes, is_disk_nearly_full
from apps.core.machine.process import MACHINE, memory_limit, process_name

__all__ = [
    "MACHINE",
    "bind_to_processor",
    "cpu_count",
    "free_disk_bytes",
    "is_disk_nearly_full",
    "memory_limit",
    "process_name",
]
