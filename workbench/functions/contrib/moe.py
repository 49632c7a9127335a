"""MoE in standard operators: every expert is computed and weighed, most of them by zero.

``MoE(input [..., E], router [T, N], fc1 [N, 2*F, E], fc1_bias [N, 2*F], fc2 [N, E, F], fc2_bias [N, E]) -> output``.
Softmax over all experts, the best ``k`` kept; feature ``normalised``: their weights sum to 1. Rows of ``fc1`` are gate
and up in turn (``swiglu_fusion = 1``): ``gate * sigmoid(alpha * gate) * (up + beta)``. Features: ``normalised``,
``fc1_bias``, ``fc2_bias``, ``three_axes``.
"""

from __future__ import annotations

FEATURES = ("normalised", "fc1_bias", "fc2_bias", "three_axes")
INPUTS = {"input": 0, "router": 1, "fc1": 2, "fc1_bias": 3, "fc2": 4, "fc2_bias": 5}


def inputs(features: frozenset[str]) -> list[str]:
    """The inputs that a variant reads, in the operator's order."""
    return [name for name in INPUTS if not name.endswith("_bias") or name in features]


def text(features: frozenset[str]) -> str:
    """Signature and body of the variant with these features."""
    body = _ROUTER + (_SUM_TO_ONE if "normalised" in features else "\n  share_TK = Identity (best_TK)\n") + _SCATTER
    body += _first("fc1_bias" in features) + _GATED + _second("fc2_bias" in features) + _OUT
    body += _PLACES if "three_axes" in features else "\n  output = Identity (sum_TE)\n"
    return f"<k, width, alpha: float, beta: float> ({', '.join(inputs(features))}) => (output) {{ {body} }}"


_ROUTER = """
  axis0 = Constant <value_ints: ints = [0]> ()
  axis1 = Constant <value_ints: ints = [1]> ()
  axis2 = Constant <value_ints: ints = [2]> ()
  last = Constant <value_ints: ints = [-1]> ()
  wide_TN = Cast <to = 1> (router)
  probability_TN = Softmax <axis = -1> (wide_TN)
  many = Constant <value_int: int = @k> ()
  many_1 = Unsqueeze (many, axis0)
  best_TK, chosen_TK = TopK <axis = -1> (probability_TN, many_1)
"""
_SUM_TO_ONE = """
  sum_T1 = ReduceSum <keepdims = 1> (best_TK, last)
  share_TK = Div (best_TK, sum_T1)
"""
_SCATTER = """
  zero_TN = Sub (probability_TN, probability_TN)
  weight_wide = ScatterElements <axis = -1> (zero_TN, chosen_TK, share_TK)
  weight_TN = CastLike (weight_wide, input)
  weight_NT = Transpose <perm = [1, 0]> (weight_TN)
  weight_NT1 = Unsqueeze (weight_NT, axis2)
  E = Constant <value_int: int = @width> ()
  E_1 = Unsqueeze (E, axis0)
  rows = Concat <axis = 0> (last, E_1)
  x_TE = Reshape (input, rows)
  x_1TE = Unsqueeze (x_TE, axis0)
"""
_GATED = """
  apart = Constant <value_ints: ints = [0, 0, -1, 2]> ()
  pairs = Reshape (inner_NTF2, apart)
  each = Constant <value_ints: ints = [1, 1]> ()
  gate_1, up_1 = Split <axis = -1> (pairs, each)
  gate = Squeeze (gate_1, last)
  up = Squeeze (up_1, last)
  alpha_f = Constant <value_float: float = @alpha> ()
  beta_f = Constant <value_float: float = @beta> ()
  alpha = CastLike (alpha_f, input)
  beta = CastLike (beta_f, input)
  steep = Mul (gate, alpha)
  open = Sigmoid (steep)
  gated = Mul (gate, open)
  raised = Add (up, beta)
  product_NTF = Mul (gated, raised)
"""
_OUT = """
  weighed = Mul (out_NTE, weight_NT1)
  sum_TE = ReduceSum <keepdims = 0> (weighed, axis0)
"""
# Token by token into the places of a batch, counted and not asked for: some providers must not be given a Shape.
_PLACES = """
  one_1 = Constant <value_ints: ints = [1]> ()
  along0 = Constant <value: tensor = int32 {0}> ()
  along1 = Constant <value: tensor = int32 {1}> ()
  first_BS1 = Slice (input, axis0, one_1, last)
  first_BS = Squeeze (first_BS1, last)
  same_BS = Equal (first_BS, first_BS)
  other_BS = Not (same_BS)
  all_BS = Or (same_BS, other_BS)
  ones_BS = Cast <to = 6> (all_BS)
  S_B1 = ReduceSum <keepdims = 1> (ones_BS, axis1)
  before_B1 = CumSum <exclusive = 1> (S_B1, along0)
  place_BS = CumSum <exclusive = 1> (ones_BS, along1)
  token_BS = Add (before_B1, place_BS)
  output = Gather <axis = 0> (sum_TE, token_BS)
"""


def _first(bias: bool) -> str:
    return _linear("x_1TE", "fc1", "inner_NTF2", bias)


def _second(bias: bool) -> str:
    return _linear("product_NTF", "fc2", "out_NTE", bias)


def _linear(x: str, weight: str, out: str, bias: bool) -> str:
    text = f"""
  {weight}_turned = Transpose <perm = [0, 2, 1]> ({weight})
  {weight}_made = MatMul ({x}, {weight}_turned)
"""
    if not bias:
        return text + f"  {out} = Identity ({weight}_made)\n"
    return text + f"  {weight}_row = Unsqueeze ({weight}_bias, axis1)\n  {out} = Add ({weight}_made, {weight}_row)\n"
