"""Render the shipped population in shards, then collect its tables.

    python tools/render_people.py --out DIR --prepare         (once: anny builds its cache in ~/.cache/anny)
    python tools/render_people.py --out DIR --shard 0/16      (each of 16 processes its own number)
    python tools/render_people.py --out DIR --collect         (when all are done)

Runs from unpacked wheels: set PYTHONPATH to a folder with mitsuba, drjit, anny, roma, trimesh, safetensors
and pycocotools, and DRJIT_LIBLLVM_PATH to an LLVM 19 library. warp-lang is not needed: anny falls back to
its own skinning with a warning. A killed run resumes; every picture is written atomically.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import types
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
sys.path.insert(0, str(SOURCE))


def shallow_packages() -> None:
    """Enter the renderer past its parents' `__init__`: they need packages a bare render machine lacks."""
    for name in ("countenance", "countenance.data", "countenance.data.people"):
        module = types.ModuleType(name)
        module.__path__ = [str(SOURCE.joinpath(*name.split(".")))]
        sys.modules[name] = module


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--shard", default="0/1", help="which share of the pictures, as i/n")
    parser.add_argument("--variant", choices=("llvm_ad_rgb", "cuda_ad_rgb", "scalar_rgb"))
    parser.add_argument("--parts", nargs="*", help="portraits twins bodies groups objects (default: all)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--limit", type=int, help="only the first pictures of the shard")
    parser.add_argument("--prepare", action="store_true", help="fill anny's cache (a minute) before starting shards")
    parser.add_argument("--collect", action="store_true", help="write the two tables and stop")
    shallow_packages()
    if sys.argv[1:] == ["--serve"]:  # a child of this script: renders what standard input names
        from countenance.data.people.render.engine import serve

        serve()
        return 0
    arguments = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, str(arguments.threads))

    from countenance.data.people.render import collect, render_specs, shipped_set
    from countenance.data.people.render.sampling import SHIPPED_SEED, shard

    if arguments.prepare:
        from countenance.data.people.render.shape import load_template

        load_template()
        return 0
    specs = shipped_set(SHIPPED_SEED if arguments.seed is None else arguments.seed)
    if arguments.parts:
        specs = [spec for spec in specs if spec.part in arguments.parts]
    if arguments.collect:
        print(*collect(arguments.out, specs), sep="\n")
        return 0
    index, count = (int(value) for value in arguments.shard.split("/"))
    mine = list(shard(specs, index, count))[: arguments.limit]
    start = time.monotonic()

    def report(done: int, total: int, sample: str) -> None:
        print(f"shard {arguments.shard}: {done}/{total} {sample} {time.monotonic() - start:.0f} s", flush=True)

    failed = render_specs(
        mine,
        arguments.out,
        threads=arguments.threads,
        variant=arguments.variant,
        progress=report,
        command=[sys.executable, "-W", "ignore", __file__, "--serve"],
    )
    if failed:
        print(f"could not render: {' '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
