import { summarize } from "../../manifest/catalog/axes.ts";
import type { CatalogRow } from "../../manifest/catalog/catalog.ts";
import { loadCatalog } from "../../manifest/catalog/load-catalog.ts";
import type { Pair } from "../../manifest/custom/shape.ts";
import { nearest } from "../../documents/nearest.ts";
import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import type { CommandContext, CommonOptions } from "./context.ts";

/** `catalog [ID]`: lists the robot types of the catalog, or shows one in detail. */
export async function catalog(
  options: CommonOptions,
  { terminal }: CommandContext,
  id: string | undefined,
): Promise<ExitCode> {
  const rows = await loadCatalog();
  if (id === undefined) {
    list(rows, options, terminal);
    return EXIT.ok;
  }
  const row = rows.find(({ robot_type_id: robotTypeId }) => robotTypeId === id);
  if (row === undefined) {
    const meant = nearest(
      id,
      rows.map(({ robot_type_id: robotTypeId }) => robotTypeId),
    );
    terminal.problem({
      code: "type-unknown",
      what: `there is no type ${id} in the catalog`,
      fix: meant === undefined ? "see all of them: robot-policy-agent catalog" : `did you mean ${meant}?`,
    });
    return EXIT.usage;
  }
  if (options.json === true) terminal.json({ ...row, ...summarize(row) });
  else await describe(row, terminal);
  return EXIT.ok;
}

function list(rows: readonly CatalogRow[], options: CommonOptions, terminal: Terminal): void {
  const types = rows.map(summarize);
  if (options.json === true) {
    terminal.json({ types });
    return;
  }
  terminal.table(
    ["id", "axes", "Hz", "hosted", "name"],
    types.map((type) => [
      type.robot_type_id,
      `${type.state_axes}/${type.action_axes}`,
      String(type.control_rate_hz),
      type.hosted ? "yes" : "",
      type.display_name,
    ]),
    ["name"],
  );
  terminal.note(
    "Axes are state/action. A hosted type registers by its id alone; extend the others: robot-policy-agent init --type ID",
  );
  terminal.note("One type in detail: robot-policy-agent catalog ID");
}

async function describe(row: CatalogRow, terminal: Terminal): Promise<void> {
  const { state_axes: stateAxes, action_axes: actionAxes } = summarize(row);
  terminal.print(`${terminal.style("bold", row.robot_type_id)}  ${row.display_name}`);
  terminal.table(
    ["", ""],
    [
      ["hosted", row.hosted ? "yes: registers by its id alone" : "unknown; the service may refuse its id"],
      ["topology", row.topology],
      ["actions", `${row.action_semantics}, ${row.control_rate_hz} Hz`],
      ["axes", `${stateAxes} state, ${actionAxes} action`],
      ["cameras", describeCameras(row.cameras)],
      ["source", row.source],
    ],
  );
  terminal.print("");
  terminal.table(["#", "element", "kind", "unit", "limits", "speed"], await elementRows(row));
}

function describeCameras(cameras: CatalogRow["cameras"]): string {
  if (cameras === "user") return "declared by whoever installs the robot";
  return cameras.map(({ role, width, height }) => `${role} ${width}×${height}`).join(", ");
}

/** One row for each element, in vector order. */
async function elementRows(row: CatalogRow): Promise<readonly (readonly string[])[]> {
  const { baseGroup } = await import("../../manifest/custom/robot.ts");
  const { boundedIndex, elementsOf, scalarAt } = await import("../../manifest/custom/group.ts");
  const rows = row.groups.map(baseGroup).flatMap((group) => {
    const { kind, limits, aperture, normalized } = group;
    return elementsOf(group).map((element, index) => {
      const native = element.unit ?? "";
      const unit = limits?.unit ?? native;
      const bounded = boundedIndex(group, element);
      const speed = limits?.velocity === undefined ? undefined : scalarAt(limits.velocity, bounded);
      const scale =
        normalized && `1 is ${scalarAt(normalized.full_scale, bounded) ?? ""} ${native} a ${normalized.per}`;
      const speeds = [speed === undefined ? undefined : `${speed} ${unit}/s`, scale];
      return [
        `${group.name}.${element.name}`,
        kind,
        native,
        aperture === undefined
          ? limitsText(limits?.position?.[index], unit)
          : `closed ${aperture.closed}, open ${aperture.open}`,
        speeds.filter((each) => each !== undefined).join(", "),
      ];
    });
  });
  return rows.map((cells, index) => [String(index)].concat(cells));
}

function limitsText(pair: Pair | undefined, unit: string): string {
  return pair === undefined ? "" : `${pair[0]} … ${pair[1]} ${unit}`;
}
