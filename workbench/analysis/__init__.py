"""Pure analysis of graphs, reports and numbers: nothing here builds a model or runs one."""
