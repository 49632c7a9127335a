"""What becomes of each key of ``genai_config.json``: imported, dropped for a stated reason, or a part that is refused.

Paths have no indices: ``model.eos_token_id`` is one key, whether a number or a list stands there. Whatever is in none
of the tables is unknown. The keys that the client of the file knows stand in ``export.keys``; a test holds both
against each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Kind = Literal["text", "template", "size", "whole", "wholes", "ends", "number", "flag"]

KIND_WORDS: Mapping[Kind, str] = {
    "text": "text", "template": "a name with one %d for the layer", "size": "a whole number from 1 to 2^31 - 1",
    "whole": "a whole number from 0 to 2^31 - 1",
    "wholes": "a list of whole numbers", "ends": "a whole number from 0 to 2^31 - 1, or a list of them",
    "number": "a finite number", "flag": "true or false",
}  # fmt: skip

TOKENS = "bos pad sep decoder_start image audio video vision_start bor eor bot eot boa".split()
"""Special tokens beside the ends of a text, ``model.{name}_token_id``."""
DEFAULTS: Mapping[str, Kind] = {
    "do_sample": "flag", "early_stopping": "flag", "num_beams": "whole", "num_return_sequences": "whole",
    "min_length": "whole", "max_length": "whole", "top_k": "whole", "no_repeat_ngram_size": "whole",
    "temperature": "number", "top_p": "number", "repetition_penalty": "number", "length_penalty": "number",
    "diversity_penalty": "number",
}  # fmt: skip
"""Keys of ``search`` that are generation defaults under the same name."""

_INPUTS: Mapping[str, str] = {
    "input_ids": "token_ids", "attention_mask": "attention_mask", "position_ids": "position_ids",
}  # fmt: skip
_CACHE = {"past_key_names": "key", "past_value_names": "value"}

IMPORTED: Mapping[str, tuple[Kind, str]] = {
    "model.type": ("text", "model.architecture"),
    "model.vocab_size": ("size", "model.vocab_size"),
    "model.context_length": ("size", "model.max_sequence_length"),
    "model.tokenizer_dir": ("text", "package.tokenizer.artifacts"),
    **{f"model.{name}_token_id": ("whole", f"package.tokenizer.special_tokens.{name}") for name in TOKENS},
    "model.eos_token_id": ("ends", "package.tokenizer.special_tokens.eos, eos_2, ..."),
    "model.decoder.filename": ("text", "the decoder's artifact"),
    "model.decoder.head_size": ("size", "model.attention.head_dim"),
    "model.decoder.num_attention_heads": ("size", "model.attention.num_attention_heads"),
    "model.decoder.num_key_value_heads": ("size", "model.attention.num_kv_heads"),
    "model.decoder.num_hidden_layers": ("size", "the layers of the cache"),
    "model.decoder.sliding_window.window_size": ("size", "the group of windows; the graph masks them"),
    "model.decoder.sliding_window.layers": ("wholes", "the layers of that group"),
    **{f"model.decoder.inputs.{key}": ("text", f"the port of the role {role}") for key, role in _INPUTS.items()},
    **{f"model.decoder.inputs.{key}": ("template", f"the {role} ports read") for key, role in _CACHE.items()},
    "model.decoder.outputs.logits": ("text", "the port of the role logits"),
    "model.decoder.outputs.present_key_names": ("template", "the key ports written"),
    "model.decoder.outputs.present_value_names": ("template", "the value ports written"),
    **{f"search.{key}": (kind, f"generation.defaults.{key}") for key, kind in DEFAULTS.items()},
    "search.past_present_share_buffer": ("flag", "aliasing of the state groups"),
    "search.chunk_size": ("whole", "model.runtime_configurable.chunked_prefill.chunk_size"),
}  # fmt: skip
"""By path: what may stand there, and where in the document it goes."""

_BUFFER = "how the client lays out its own buffer of a window; a document says only which layers have one"
_PAGED = "part of a paged cache of the client, which makes it itself; no port of a described state"
_FRONT = "part of a speech front end, which a decoder of text does not have"
_SERVING = "how the client schedules its own requests; a runtime's business"

DROPPED: Mapping[str, str] = {
    "engine": _SERVING,
    "runtime_profiles": _SERVING,
    "speculative": "how far the client drafts ahead; tokens are the same without",
    **dict.fromkeys(
        ("model.draft", "model.mtp", "model.dflash2", "model.dspark"),
        "a proposer of tokens; the model answers the same without it",
    ),
    "model.decoder.session_options": "options of ONNX Runtime sessions on the machine of the client",
    "model.decoder.run_options": "options of ONNX Runtime runs on the machine of the client",
    "model.decoder.hidden_size": "a width inside the graph that no port of it has",
    "model.decoder.shared_initializers": "how the client shares weights between its sessions",
    "model.decoder.conv_cache_size": "a width that the graph's own ports state",
    **{
        f"model.decoder.sliding_window.{key}": _BUFFER
        for key in ("pad_value", "alignment", "slide_key_value_cache", "slide_inputs", "cache_slack")
    },
    "model.decoder.kv_cache": _PAGED,
    **{
        f"model.decoder.inputs.{key}": _PAGED
        for key in (
            "block_table", "block_table_windowed", "slot_mapping", "cumulative_sequence_lengths",
            "past_sequence_lengths", "attention_metadata", "logits_indices",
        )
    },
    **{
        f"model.decoder.inputs.{key}": "a number that the client counts for itself"
        for key in (
            "past_sequence_length", "current_sequence_length", "total_sequence_length", "past_key_values_length",
        )
    },
    "model.decoder.inputs.cache_indirection": "the client's bookkeeping of beams",
    "model.decoder.outputs.hidden_states": "an output that no step of generation reads",
    "model.decoder.outputs.aux_hidden_states": "an output that no step of generation reads",
    "search.batch_size": "a matter of each request",
    "search.random_seed": "a matter of each request",
    **{
        f"search.{key}": _FRONT for key in ("blank_penalty", "audio_interleaved", "audio_temperature", "audio_top_k")
    },
    **{
        f"model.{key}": _FRONT
        for key in (
            "blank_id chunk_samples conv_context fft_size hop_length left_context left_context_samples log_eps "
            "max_symbols_per_step norm_eps num_mels pre_encode_cache_size preemph right_context_samples sample_rate "
            "subsampling_factor tdt_durations win_length"
        ).split()
    },
}  # fmt: skip
"""By path, with everything below it: why a document has no place for it."""

_ENCODER = "an encoder beside the decoder"
_MEDIA = "inputs other than text"
_STATE = "state other than keys and values in each layer"

REFUSED: Mapping[str, str] = {
    "model.encoder": _ENCODER,
    "model.vision": _MEDIA,
    "model.speech": _MEDIA,
    "model.embedding": "embeddings in a graph of their own",
    "model.joiner": "a transducer",
    "model.vad": "a detector of speech",
    "model.audio_output": "outputs other than text",
    "model.moonshine": "a recogniser of speech",
    "model.decoder.pipeline": "a decoder in several graphs",
    "model.decoder.layer_types": _STATE,
    "model.decoder.state_groups": _STATE,
    "model.decoder.state_update_capacity": _STATE,
    **{
        f"model.decoder.inputs.{key}": _ENCODER
        for key in ("cross_past_key_names", "cross_past_value_names", "encoder_hidden_states", "encoder_attention_mask")
    },
    "model.decoder.inputs.inputs_embeds": "embeddings in a graph of their own",
    "model.decoder.inputs.per_layer_inputs": "embeddings in a graph of their own",
    "model.decoder.outputs.output_cross_qk_names": _ENCODER,
    **{
        f"model.decoder.inputs.{key}": _STATE
        for key in (
            "past_names", "past_key_scale_names", "past_value_scale_names", "past_conv_names", "past_recurrent_names",
            "rnn_states_prev", "state_update_capture_count", "state_update_active", "hidden_states",
        )
    },
    **{
        f"model.decoder.outputs.{key}": _STATE
        for key in (
            "present_names", "present_key_scale_names", "present_value_scale_names", "present_conv_names",
            "present_recurrent_names", "rnn_states", "state_update_conv_value_names",
            "state_update_recurrent_capsule_names",
        )
    },
    **{
        f"model.decoder.inputs.{key}": "a transducer"
        for key in ("targets", "targets_length", "lstm_hidden_state", "lstm_cell_state")
    },
    **{
        f"model.decoder.outputs.{key}": "a transducer"
        for key in ("outputs", "outputs_length", "lstm_hidden_state", "lstm_cell_state")
    },
}  # fmt: skip
"""By path, with everything below it: what makes the model another kind than one decoder fed by tokens. To leave it
out would describe a package that does not run, so no permission to lose something helps."""

OBJECTS = frozenset(
    path.rpartition(".")[0] for path in (*IMPORTED, *DROPPED, *REFUSED) if "." in path
) | {"", "model"}  # fmt: skip
"""Paths at which named values must stand."""
