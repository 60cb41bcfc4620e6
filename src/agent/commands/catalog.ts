import { nearest } from "../../documents/nearest.ts";
import { type CatalogRow, CATALOG_ROWS } from "../../manifest/catalog/rows.ts";
import { catalogAxes } from "../../manifest/custom/contract.ts";
import { elementsOf, scalarAt } from "../../manifest/custom/group.ts";
import { baseGroup } from "../../manifest/custom/robot.ts";
import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import type { CommandContext, CommonOptions } from "./context.ts";

/** `catalog [ID]`: lists the robot types of the catalog, or shows one in detail. */
export async function catalog(
  options: CommonOptions,
  { terminal }: CommandContext,
  id: string | undefined,
): Promise<ExitCode> {
  if (id === undefined) return list(options, terminal);
  const row = CATALOG_ROWS.find(({ robot_type_id: robotTypeId }) => robotTypeId === id);
  if (row === undefined) {
    const ids = CATALOG_ROWS.map(({ robot_type_id: robotTypeId }) => robotTypeId);
    const meant = nearest(id, ids);
    terminal.problem({
      code: "type-unknown",
      what: `there is no type ${id} in the catalog`,
      fix: meant === undefined ? "see all of them: robot-policy-agent catalog" : `did you mean ${meant}?`,
    });
    return EXIT.usage;
  }
  if (options.json === true) terminal.json({ ...row, ...summarize(row) });
  else describe(row, terminal);
  return EXIT.ok;
}

/** One line of the list; the numbers of axes are the lengths of the vectors. */
function summarize(row: CatalogRow) {
  const { robot_type_id: robotTypeId, display_name: displayName, hosted, control_rate_hz: controlRateHz } = row;
  const { state_axes: state, action_axes: action } = catalogAxes(row);
  return {
    robot_type_id: robotTypeId,
    display_name: displayName,
    hosted,
    state_axes: state.length,
    action_axes: action.length,
    control_rate_hz: controlRateHz,
  };
}

function list(options: CommonOptions, terminal: Terminal): ExitCode {
  const types = CATALOG_ROWS.map(summarize);
  if (options.json === true) {
    terminal.json({ types });
    return EXIT.ok;
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
  return EXIT.ok;
}

function describe(row: CatalogRow, terminal: Terminal): void {
  const { state_axes: stateAxes, action_axes: actionAxes } = summarize(row);
  const { cameras } = row;
  const images = cameras === "user" ? [] : cameras.map(({ role, width, height }) => `${role} ${width}×${height}`);
  terminal.print(`${terminal.style("bold", row.robot_type_id)}  ${row.display_name}`);
  terminal.table(
    ["", ""],
    [
      ["hosted", row.hosted ? "yes: registers by its id alone" : "unknown; the service may refuse its id"],
      ["topology", row.topology],
      ["actions", `${row.action_semantics}, ${row.control_rate_hz} Hz`],
      ["axes", `${stateAxes} state, ${actionAxes} action`],
      ["cameras", cameras === "user" ? "declared by whoever installs the robot" : images.join(", ")],
      ["source", row.source],
    ],
  );
  terminal.print("");
  const cells = row.groups.flatMap(elementCells).map((each, index) => [String(index)].concat(each));
  terminal.table(["#", "element", "kind", "unit", "limits", "speed"], cells);
}

/** The cells of each element, in vector order. */
function elementCells(group: CatalogRow["groups"][number]): readonly (readonly string[])[] {
  const { name, kind, limits, aperture, normalized } = group;
  return elementsOf(baseGroup(group)).map((element, index) => {
    const native = element.unit ?? "";
    const unit = limits?.unit ?? native;
    const pair = limits?.position?.[index];
    const range = pair === undefined ? "" : `${pair[0]} … ${pair[1]} ${unit}`;
    const speed = limits?.velocity === undefined ? undefined : scalarAt(limits.velocity, index);
    const scale = normalized && `1 is ${scalarAt(normalized.full_scale, index) ?? ""} ${native} a ${normalized.per}`;
    const speeds = [speed === undefined ? undefined : `${speed} ${unit}/s`, scale];
    return [
      `${name}.${element.name}`,
      kind,
      native,
      aperture === undefined ? range : `closed ${aperture.closed}, open ${aperture.open}`,
      speeds.filter((each) => each !== undefined).join(", "),
    ];
  });
}
