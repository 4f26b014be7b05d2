"""A model whose exceptions fail in different ways when they are looked at; workers import it as `unprintable:model`."""

import sys


class Nameless(type):
    @property
    def __name__(cls):
        raise RuntimeError("no name")

    def __repr__(cls):
        raise RuntimeError("no class")


class Raises(Exception):
    def __str__(self):
        raise ValueError("no text")

    __repr__ = __str__


class Leaves(Exception):
    def __str__(self):
        sys.exit(5)


class Interrupts(Exception):
    def __str__(self):
        raise KeyboardInterrupt


class Base(BaseException):
    def __str__(self):
        raise BaseException("no text")


class Endless(Exception):
    def __str__(self):
        return str(self)


class Number(Exception):
    def __str__(self):
        return 5


class Text(str):
    def split(self, *_):
        raise ValueError("no words")

    strip = splitlines = startswith = __format__ = split


class Texts(Exception):
    def __str__(self):
        return Text("another text")


class WithoutName(Exception, metaclass=Nameless):
    pass


class Attributes(Exception):
    def __getattribute__(self, name):
        raise ValueError(f"no {name}")


KINDS = (Raises, Leaves, Interrupts, Base, Endless, Number, Texts, WithoutName, Attributes)


def model(images, ids):
    raise KINDS[int(ids[0][1:]) % len(KINDS)]()
