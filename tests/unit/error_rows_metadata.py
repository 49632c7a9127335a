"""Bad input to what reads inference metadata: rows of the table in ``error_rows``."""

from __future__ import annotations

from tests.unit.error_rows import row, touch
from tests.unit.metadata.fixtures import base
from workbench import errors, metadata

row("metadata of another type", errors.ArgumentError, "source must be", "a path", "found int 3")(
    lambda path: metadata.validate(3)
)
row("dialect of metadata", errors.UnknownNameError, "Unknown dialect 'pr-828'", "Did you mean 'pr828'?", "Known:")(
    lambda path: metadata.validate({}, dialect="pr-828")
)
row("dialect to convert to", errors.UnknownNameError, "Unknown dialect 'v2'", "Did you mean 'v1'?", "Known: pr828, v1")(
    lambda path: metadata.convert({}, "v2")
)
row("version to convert to", errors.UnknownNameError, "Unknown schema_version 'v1.9'", "Known: v1.0,", "v1.8")(
    lambda path: metadata.convert({}, "v1", schema_version="v1.9")
)
row("metadata that are a list", errors.ModelFileError, "cannot be converted", "no mapping", "`validate` tells more")(
    lambda path: metadata.convert(touch(path / "list.yaml", "- 1"), "v1")
)
row(
    "metadata that are not there", errors.ModelFileError, "cannot be read", "There is no file", "`validate` says where"
)(lambda path: metadata.semantic_identity(path / "none.yaml"))
row("metadata that do not parse", errors.ModelFileError, "does not parse", "pipeline.workflow", "`validate` names")(
    lambda path: metadata.value_table({"pipeline": {"workflow": {}}})
)
row("metadata without a workflow", errors.ModelFileError, "no pipeline.workflow", "found only facts", "Give the")(
    lambda path: metadata.state_lifetimes({"model": {}})
)
row("metadata without their folder", errors.ModelFileError, "needs the package's folder", "pass package_root")(
    lambda path: metadata.check_ports(base("dec"))
)
row("package_root that is not there", errors.ModelFileError, "There is no folder", "package_root names the folder")(
    lambda path: metadata.check_ports(base("dec"), path / "none")
)
row("package_root of another type", errors.ArgumentError, "package_root must be a path of a folder", "found int 3")(
    lambda path: metadata.check_ports(base("dec"), 3)
)
