"""Whether a model and a task belong together, as far as the model says what it finds."""

from countenance.answers.targets import in_words
from countenance.errors import InputError
from countenance.models import ModelCard
from countenance.tasks import Task, load_task, task_names


def refuse_mismatch(card: ModelCard, task: Task) -> None:
    """Raise when a model finds something else than the task evaluates.

    A model that does not say what it finds, and a task that does not say what it needs, are let through.

    >>> refuse_mismatch(ModelCard(name="mine", finds=("face",)), load_task("person_localization"))
    Traceback (most recent call last):
    countenance.errors.InputError: mine finds faces, and person_localization evaluates people: use face_localization ...
    """
    if not card.finds or not task.needs or set(card.finds) & set(task.needs):
        return
    fitting = [name for name in task_names() if set(load_task(name).needs) & set(card.finds)]
    other = f"use {' or '.join(fitting)}" if fitting else "use another task"
    raise InputError(
        f"{card.name} finds {in_words(card.finds)}, and {task.name} evaluates {in_words(task.needs)}: {other}, or a "
        f"model that finds {in_words(task.needs)} (`countenance run --allow-mismatch` evaluates it all the same)"
    )
