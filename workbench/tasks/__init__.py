"""Tasks by name."""

from __future__ import annotations

from workbench.errors import unknown, wrong_type
from workbench.tasks.base import Task
from workbench.tasks.feature_extraction import FeatureExtraction
from workbench.tasks.text_generation import TextGeneration

__all__ = ["TASKS", "FeatureExtraction", "Task", "TextGeneration", "get_task"]

TASKS: dict[str, Task] = {task.name: task for task in (TextGeneration(), FeatureExtraction())}


def get_task(task: str | Task) -> Task:
    """The task of that name; an instance is handed through.

    Raises:
        UnknownNameError: no task is called so.
        ArgumentError: neither a name nor a task.
    """
    if not isinstance(task, str):
        if not hasattr(task, "build") or not hasattr(task, "roles"):
            raise wrong_type("task", task, "the name of a task, or a Task")
        return task
    if task not in TASKS:
        raise unknown("task", task, TASKS)
    return TASKS[task]
