"""Models that attack the process they run in, each in one way; workers import them as `hostile:NAME`."""

import builtins
import contextlib
import gc
import json
import locale
import os
import random
import signal
import sys
import threading
import time
import warnings

import numpy as np

from countenance.testing import DiscDetector

good = DiscDetector()


def _first(image):
    """Whether this is the picture that sets a model off."""
    return int(image[0, 0].sum()) % 5 == 0


def closes_stdout(images):
    sys.stdout.close()
    sys.stderr.close()
    return good(images)


def replaces_stdout(images):
    sys.stdout = sys.stderr = None
    return good(images)


def closes_descriptors(images):
    for number in (0, 1, 2):
        with contextlib.suppress(OSError):
            os.close(number)
    return good(images)


def closes_every_descriptor(images):
    if any(_first(image) for image in images):
        os.closerange(3, 256)
    return good(images)


def handles_signals(images):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)
    return good(images)


def changes_locale(images):
    with contextlib.suppress(locale.Error):
        locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
    os.environ.update({"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"})
    return good(images)


def forks(images):
    if os.fork() == 0:
        time.sleep(300)
        os._exit(0)
    return good(images)


def threads_that_never_end(images):
    threading.Thread(target=threading.Event().wait).start()
    return good(images)


def prints_megabytes(images):
    print("x" * 3_000_000)
    print("\x1b[2J\x07" * 100_000, file=sys.stderr)
    os.write(1, b"\xff\xfe\x00" * 100_000)
    return good(images)


SHARED = np.zeros((1, 5))


def shared_buffer(images):
    answers = []
    for image in images:
        SHARED[0, :4] = good([image])[0].xyxy[0]
        SHARED[0, 4] = 0.5
        answers.append(SHARED[:])
    return answers


def shared_between_calls(images):
    for image in images:
        SHARED[0, :4] = good([image])[0].xyxy[0]
        SHARED[0, 4] = 0.5
    return [SHARED]


def writes_on_images(images):
    answers = good(images)
    for image in images:
        with contextlib.suppress(ValueError):
            image.setflags(write=True)
            image[:] = 0
    return answers


def generator(images):
    yield from good(images)


def generator_that_raises(images):
    yield from good(images[:1])
    raise RuntimeError("in the middle")


def raises_system_exit(images):
    if any(_first(image) for image in images):
        sys.exit(0)
    return good(images)


def raises_keyboard_interrupt(images):
    if any(_first(image) for image in images):
        raise KeyboardInterrupt
    return good(images)


class Odd(BaseException):
    def __str__(self):
        raise ValueError("no words")


def raises_base_exception(images):
    if any(_first(image) for image in images):
        raise Odd
    return good(images)


def exits_with_zero(images):
    if any(_first(image) for image in images):
        os._exit(0)
    return good(images)


def aborts(images):
    if any(_first(image) for image in images):
        os.abort()
    return good(images)


def changes_directory(images):
    os.chdir("/")
    os.umask(0o777)
    os.environ.clear()
    sys.path.clear()
    return good(images)


def warnings_are_errors(images):
    warnings.simplefilter("error")
    return good(images)


def hooks(images):
    sys.excepthook = threading.excepthook = sys.unraisablehook = lambda *_: os._exit(3)
    sys.settrace(lambda *_: None)
    return good(images)


def changes_json(images):
    json.dumps = json.loads = lambda *_, **__: "nothing"
    return good(images)


def changes_numpy(images):
    np.seterr(all="raise")
    np.set_printoptions(precision=1)
    np.random.seed(0)
    random.seed(0)
    return good(images)


def changes_builtins(images):
    builtins.sorted = lambda *_, **__: []
    return good(images)


def recurses(images):
    if any(_first(image) for image in images):

        def down():
            return down() + 1

        down()
    return good(images)


def lowers_the_recursion_limit(images):
    sys.setrecursionlimit(60)
    gc.disable()
    return good(images)


def allocates(images):
    if any(_first(image) for image in images):
        kept = []
        while True:
            kept.append(np.ones(1 << 48))
    return good(images)


def of(answer):
    return lambda images: [answer if _first(image) else good([image])[0] for image in images]


nothing = of(None)
infinite = of([[0, 0, float("inf"), 1]])
huge = of([[0, 0, 1e308, 1e308]])
whole_numbers = of([[0, 0, 10**400, 1]])
objects = of([[object()] * 4])
complex_numbers = of(np.array([[0, 0, 1j, 1]]))
words = of("\x1b[31mboxes\x00\ud800")
labels = of({"boxes": [[0, 0, 1, 1]], "labels": ["\x1b[2J\x07\ud800"]})
too_deep = of([[[[[[[[1]]]]]]]])
million_boxes = of(np.tile([[0, 0, 1, 1]], (1_000_000, 1)))
itself: list = []
itself.append(itself)
cyclic = of(itself)


class LyingLength:
    def __len__(self):
        return 1 << 60

    def __getitem__(self, _):
        return [0, 0, 1, 1]


lying_length = of(LyingLength())


class Rewritten(DiscDetector):
    """Says another name each time it is asked."""

    count = 0

    @property
    def name(self):
        Rewritten.count += 1
        return f"name {Rewritten.count}\x1b[31m"

    @name.setter
    def name(self, _):
        pass
