"""From a model's name, folder or file to a frozen configuration."""
