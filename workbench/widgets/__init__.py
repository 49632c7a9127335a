"""Views for notebooks: thin, over the frozen results of analysis. Only this folder knows ipywidgets and Netron."""
