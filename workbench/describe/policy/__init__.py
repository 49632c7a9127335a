"""Small graphs that a workflow needs beside its models: from logits to a token, from a step to the next one's state."""
