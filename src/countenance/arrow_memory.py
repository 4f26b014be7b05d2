"""Bytes in memory of Arrow's own.

Arrow's threads may let go of what they read some time after the reading has ended. To let go of an object of Python's
they need the interpreter, and one that is just ending ends the whole program with a signal, after all work is done.
"""

from typing import Any


def arrow_reader(content: bytes) -> Any:
    """An Arrow file of some bytes, which are copied.

    >>> arrow_reader(b"PAR1").read()
    b'PAR1'
    """
    import pyarrow as pa

    memory = pa.BufferOutputStream()
    memory.write(content)
    return pa.BufferReader(memory.getvalue())
