"""Llama: the plain case. Smollm2 is one."""

from __future__ import annotations

from workbench.config.from_hf import llama
from workbench.models.spec import ModelSpec

SPEC = ModelSpec(model_type="llama", config=llama)
