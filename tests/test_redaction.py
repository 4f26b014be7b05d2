"""Credentials in addresses: refused where they are typed, and stored or shown nowhere where data holds them."""

import json
from pathlib import Path

import pytest

from countenance.cli.app import run as command
from countenance.testing import write_small_dataset
from countenance.text import has_credentials, redacted

ADDRESSES = (
    "s3://AKIAKEY:SeCrEt/pa+ss@bucket/run",
    "https://AKIAKEY:SeCrEt@host.example/x",
    "predictions:s3://AKIAKEY:SeCrEt@bucket/boxes.csv",
    "faces=https://AKIAKEY:SeCrEt@host/x",
    "https://host.example/x?page=1&access_token=SeCrEt",
    "s3://bucket/run?X-Amz-Signature=SeCrEt&X-Amz-Credential=AKIAKEY",
)


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    "words",
    [
        ["gate", "run", "--policy"],
        ["run", "face_localization", "--data", "set", "--out", "run", "--model"],
        ["report", "run", "--out"],
        ["view", "run", "--data-at"],
        ["compare", "run"],
        ["data", "check"],
        ["doctor"],
        ["nothing-like-it"],
    ],
)
def test_no_command_takes_or_repeats_credentials(words: list[str], address: str, capsys) -> None:
    assert command([*words, address]) == 2
    text = "".join(capsys.readouterr())
    assert "SeCrEt" not in text and "AKIAKEY" not in text
    assert "credentials in an address" in text and len(text.splitlines()) == 1


def test_what_data_holds_is_stored_and_shown_without_credentials(tmp_path: Path, capsys) -> None:
    data = write_small_dataset(tmp_path / "set", n=12, size=32)
    card = json.loads((data / "card.json").read_text()) if (data / "card.json").exists() else {"name": "faces"}
    card |= {"name": "faces of https://me:SeCrEt@host/x", "licence": "CC0-1.0 (https://me:SeCrEt@host/x)"}
    card |= {"citation": "see https://me:SeCrEt@host/x", "warning": "s3://KEY:SeCrEt@bucket, http://a/b?token=SeCrEt"}
    (data / "card.json").write_text(json.dumps(card))
    out = tmp_path / "out"
    run = ["run", "face_localization", "--model", "countenance.testing:DiscDetector", "--data", str(data), "--out"]
    assert command([*run, str(out / "run"), "-q"]) == 0
    assert command(["report", str(out / "run"), "--out", str(out / "page.html")]) == 0
    assert command(["card", str(out / "run"), "--out", str(out / "card.md")]) == 0
    assert command(["data", "card", str(data), "--out", str(out / "data.md")]) == 0
    assert command(["data", "show", str(data)]) == 0
    assert command(["data", "croissant", str(data), "--out", str(out / "croissant.json")]) == 0
    for form in ("coco", "folder"):
        assert command(["data", "export", str(data), "--layout", form, "--out", str(out / form)]) == 0
    for what, name in (("figures", "figure.svg"), ("every-eval-ever", "record.json"), ("summary", "summary.md")):
        assert command(["export", str(out / "run"), "--what", what, "--out", str(out / name)]) == 0
    for path in out.rglob("*"):
        assert not path.is_file() or b"SeCrEt" not in path.read_bytes(), path
    assert "SeCrEt" not in "".join(capsys.readouterr())
    assert "https://…@host/x" in (out / "card.md").read_text() + (out / "page.html").read_text()


def test_an_address_that_was_taken_for_a_path_is_redacted_too() -> None:
    assert redacted("s3:/KEY:SECRET@bucket/run: no such file") == "s3:/…@bucket/run: no such file"
    assert not has_credentials("C:/me@x") and not has_credentials("runs/me@x") and not has_credentials("a:/b@c")
