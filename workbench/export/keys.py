"""What ONNX Runtime GenAI accepts in ``genai_config.json``: every key was given to the client's own parser.

Measured with onnxruntime-genai 0.18.0. The client refuses a file with any other key, so nothing else is written; a test
asks the installed client about each of these again. What stands below a part that is not listed here (``vision``,
``encoder``, ...) is not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping

MEASURED_WITH = "onnxruntime-genai 0.18.0"

KEYS: Mapping[str, frozenset[str]] = {
    "": frozenset(["model", "search", "engine", "speculative", "runtime_profiles"]),
    "model": frozenset(
        "type vocab_size context_length bos_token_id eos_token_id pad_token_id sep_token_id decoder_start_token_id "
        "bor_token_id eor_token_id bot_token_id eot_token_id boa_token_id image_token_id audio_token_id "
        "video_token_id vision_start_token_id tokenizer_dir decoder encoder draft vision embedding speech joiner vad "
        "mtp dflash2 dspark audio_output moonshine blank_id chunk_samples conv_context fft_size hop_length "
        "left_context left_context_samples log_eps max_symbols_per_step norm_eps num_mels pre_encode_cache_size "
        "preemph right_context_samples sample_rate subsampling_factor tdt_durations win_length".split()
    ),
    "model.decoder": frozenset(
        "filename head_size hidden_size num_attention_heads num_hidden_layers num_key_value_heads inputs outputs "
        "session_options run_options sliding_window layer_types pipeline shared_initializers state_groups "
        "state_update_capacity conv_cache_size".split()
    ),
    "model.decoder.inputs": frozenset(
        "input_ids inputs_embeds attention_mask position_ids past_key_names past_value_names past_names "
        "past_key_scale_names past_value_scale_names cross_past_key_names cross_past_value_names past_sequence_length "
        "current_sequence_length total_sequence_length encoder_hidden_states encoder_attention_mask rnn_states_prev "
        "past_key_values_length cache_indirection cumulative_sequence_lengths past_sequence_lengths block_table "
        "block_table_windowed attention_metadata logits_indices past_conv_names past_recurrent_names "
        "state_update_capture_count state_update_active hidden_states targets targets_length lstm_hidden_state "
        "lstm_cell_state per_layer_inputs".split()
    ),
    "model.decoder.outputs": frozenset(
        "logits present_key_names present_value_names present_names present_key_scale_names present_value_scale_names "
        "output_cross_qk_names rnn_states present_conv_names present_recurrent_names state_update_conv_value_names "
        "state_update_recurrent_capsule_names hidden_states aux_hidden_states outputs outputs_length lstm_hidden_state "
        "lstm_cell_state".split()
    ),
    "model.decoder.sliding_window": frozenset(
        "window_size pad_value alignment slide_key_value_cache slide_inputs cache_slack layers".split()
    ),
    "search": frozenset(
        "min_length max_length batch_size num_beams num_return_sequences top_k top_p temperature repetition_penalty "
        "length_penalty no_repeat_ngram_size diversity_penalty random_seed chunk_size do_sample early_stopping "
        "past_present_share_buffer blank_penalty audio_interleaved audio_temperature audio_top_k".split()
    ),
}
"""By the path of the object that holds them."""

SESSION_OPTIONS: Mapping[str, type] = {
    "log_id": str, "enable_profiling": str, "intra_op_num_threads": int, "inter_op_num_threads": int,
    "log_severity_level": int, "log_verbosity_level": int, "enable_cpu_mem_arena": bool, "enable_mem_pattern": bool,
    "graph_optimization_level": str, "custom_ops_library": str, "provider_options": list,
}  # fmt: skip
"""Session options that the client reads itself; any other goes to ONNX Runtime as text and must be text."""

TYPES = frozenset(
    "decoder chatglm ernie4_5 gemma gemma2 gemma3_text gptoss granite internlm2 llama mistral nemotron olmo phi phi3 "
    "phi3small phimoe qwen2 qwen3 smollm3".split()
)
"""Values of ``model.type`` under which the client runs a decoder with a key and a value cache in each layer: a graph
was loaded and run under each. ``gpt2`` wants one combined cache and ``lfm2`` convolutions, so they are not here."""

GENERIC_TYPE = "decoder"

SAMPLING: Mapping[str, object] = {
    "do_sample": False, "early_stopping": True, "num_beams": 1, "num_return_sequences": 1, "min_length": 0,
    "temperature": 1.0, "top_k": 50, "top_p": 1.0, "repetition_penalty": 1.0, "length_penalty": 1.0,
    "no_repeat_ngram_size": 0, "diversity_penalty": 0.0,
}  # fmt: skip
"""Search defaults where ``generation_config.json`` says nothing; always written, since the client's own differ from
Hugging Face's (its ``top_p`` is 0)."""

DEFAULT_NAMES: Mapping[str, str] = {
    "input_ids": "input_ids", "attention_mask": "attention_mask", "position_ids": "position_ids",
    "past_key_names": "past_key_values.%d.key", "past_value_names": "past_key_values.%d.value",
    "logits": "logits", "present_key_names": "present.%d.key", "present_value_names": "present.%d.value",
}  # fmt: skip
"""What the client looks for where the maps are silent."""
