"""A board as Grafana's JSON, by Grafana's foundation SDK: the one file that knows it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from dev.dashboards.board import Board, Panel, Variable
from grafana_foundation_sdk.builders import dashboard as d
from grafana_foundation_sdk.builders import prometheus, stat, timeseries
from grafana_foundation_sdk.builders.common import (
    GraphThresholdsStyleConfig,
    ReduceDataOptions,
    VizLegendOptions,
)
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models import dashboard as models

_SOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
WIDTH, HEIGHT, NUMBER_HEIGHT = 24, 8, 4


def as_json(board: Board) -> str:
    """The dashboard's file."""
    made = (
        d.Dashboard(board.title)
        .uid(board.uid)
        .description(board.description)
        .tags(["vllm", "barostat"])
        .refresh("30s")
        .time("now-1h", "now")
        .timezone("browser")
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .with_variable(d.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
    )
    for variable in board.variables:
        made = made.with_variable(_choice(variable))
    ids = count(1)
    for title, panels in board.rows:
        made = made.with_row(d.Row(title).id(next(ids)))
        for panel in panels:
            made = made.with_panel(_panel(panel, _width(panels)).id(next(ids)))
    return str(JSONEncoder(sort_keys=True, indent=2).encode(made.build())) + "\n"


def _choice(variable: Variable) -> d.QueryVariable:
    return (
        d.QueryVariable(variable.name)
        .label(variable.label)
        .query(f"label_values({variable.series}, {variable.label})")
        .datasource(_SOURCE)
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(".*")
        .current(models.VariableOption(selected=True, text="All", value="$__all"))
    )


def _width(panels: Sequence[Panel]) -> int:
    """Numbers stand in one line; of charts at most three do, four stand two and two."""
    return WIDTH // (2 if len(panels) == 4 and panels[0].kind == "lines" else len(panels))


def _panel(panel: Panel, width: int) -> stat.Panel | timeseries.Panel:
    made = _number() if panel.kind == "number" else _lines(panel)
    made = (
        made.title(panel.title)
        .description(panel.why)
        .datasource(_SOURCE)
        .unit(panel.unit)
        .min(0)
        .span(width)
    )
    made = made.height(NUMBER_HEIGHT if panel.kind == "number" else HEIGHT)
    if panel.top is not None:
        made = made.max(panel.top)
    for letter, query in zip("ABCDEF", panel.queries, strict=False):
        asked = (
            prometheus.Dataquery().ref_id(letter).expr(query.expression).legend_format(query.legend)
        )
        made = made.with_target(asked.instant() if panel.kind == "number" else asked)
    return made


def _number() -> stat.Panel:
    return (
        stat.Panel()
        .reduce_options(ReduceDataOptions().calcs(["lastNotNull"]))
        .graph_mode(common.BigValueGraphMode.AREA)
    )


def _lines(panel: Panel) -> timeseries.Panel:
    made = (
        timeseries.Panel()
        .line_width(1)
        .fill_opacity(8)
        .show_points(common.VisibilityMode.NEVER)
        .legend(
            VizLegendOptions()
            .display_mode(common.LegendDisplayMode.LIST)
            .placement(common.LegendPlacement.BOTTOM)
            .show_legend(True)
        )
    )
    if panel.threshold is None:
        return made
    steps = [
        models.Threshold(value=None, color="green"),
        models.Threshold(value=panel.threshold, color="red"),
    ]
    lines = GraphThresholdsStyleConfig().mode(common.GraphThresholdsStyleMode.DASHED)
    return made.thresholds(
        d.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(steps)
    ).thresholds_style(lines)
