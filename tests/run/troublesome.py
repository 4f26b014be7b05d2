"""Models that fail in ways of their own; workers import them as `troublesome:NAME`."""

import os
import sys
import time

from countenance.testing import DiscDetector

good = DiscDetector()
calls = 0


def dies_on_its_second_call(images):
    global calls
    calls += 1
    if calls > 1:
        os.abort()
    return good(images)


def hangs_on_its_second_call(images):
    global calls
    calls += 1
    if calls > 1:
        time.sleep(3600)
    return good(images)


def raises_generator_exit(images):
    raise GeneratorExit


def raises_keyboard_interrupt(images):
    raise KeyboardInterrupt


def prints(images):
    print("loading s3://KEY:sEcReT@bucket/x\x1b[31m")
    for number in range(500):
        print(f"line {number} " + "x" * 2000, file=sys.stderr)
    return good(images)


def prints_and_dies(images):
    print("the last words")
    os.abort()


def interrupts_at_once():
    raise KeyboardInterrupt


class Interrupted:
    """A model that cannot be made."""

    def __init__(self):
        raise KeyboardInterrupt
