"""The rules, one file a group. ``RULES`` has them by number."""

from workbench.metadata.registry import Rule, collected
from workbench.metadata.rules import (  # noqa: F401  (importing a file writes its rules down)
    a_parsing,
    b_document,
    c_generation,
    d_profiles,
    e_preprocessing,
    f_adapters,
    f_artifacts,
    f_targets,
    g_lowering,
    h_contracts,
    i_inputs,
    j_outputs,
    k_actions,
    k_components,
    l_state,
    m_ports,
    m_scatter,
    m_serving,
    n_scope,
    o_batching,
    p_chained,
    p_recurrent,
    p_speculative,
    q_package,
)

RULES: dict[int, Rule] = collected()
