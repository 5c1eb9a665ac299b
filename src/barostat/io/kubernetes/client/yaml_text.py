"""YAML that somebody else wrote."""

from __future__ import annotations

from typing import Any

import yaml

from barostat.io.input_files.yaml_bounds import LOADER, too_much


class NoYaml(Exception):
    """The error and its line."""


class _Loader(LOADER):  # type: ignore[misc, valid-type]
    """Adds the line to errors about invalid values, such as the date 2020-13-45."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, TypeError, AttributeError, LookupError, OverflowError) as error:
            raise yaml.constructor.ConstructorError(
                None, None, f"{getattr(node, 'value', '')!r:.60}: {error}", node.start_mark
            ) from None


def decoded(text: str) -> Any:
    """Parse a YAML document. Errors: NoYaml if it is invalid or too large."""
    try:
        if why := too_much(text):
            raise NoYaml(why)
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise NoYaml(
            f"line {mark.line + 1}: {error.problem}" if mark is not None else str(error.problem)
        ) from None
    except (yaml.YAMLError, ValueError) as error:
        raise NoYaml(" ".join(str(error).split())[:120]) from None
    except RecursionError:
        raise NoYaml("it is nested too deep") from None
