import type { CatalogGroup, CatalogRow } from "../../manifest/catalog.ts";
import { loadCatalog, summarize } from "../../manifest/catalog.ts";
import { nearest } from "../../manifest/nearest.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { CommandContext, CommonOptions } from "./context.ts";

/** `catalog [ID]`: the robot types that are known by id, or one of them in detail. */
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
  const row = rows.find(({ robot_type_id }) => robot_type_id === id);
  if (row === undefined) {
    const meant = nearest(
      id,
      rows.map(({ robot_type_id }) => robot_type_id),
    );
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

function list(rows: readonly CatalogRow[], options: CommonOptions, terminal: Terminal): void {
  const types = rows.map(summarize);
  if (options.json === true) {
    terminal.json({ types });
    return;
  }
  terminal.table(
    ["id", "axes", "Hz", "hosted", "name"],
    types.map(({ robot_type_id, state_axes, action_axes, control_rate_hz, hosted, display_name }) => [
      robot_type_id,
      `${state_axes}/${action_axes}`,
      String(control_rate_hz),
      hosted ? "yes" : "",
      display_name,
    ]),
  );
  terminal.note("Axes are state/action. One type in detail: robot-policy-agent catalog ID");
}

function describe(row: CatalogRow, terminal: Terminal): void {
  const { state_axes, action_axes } = summarize(row);
  terminal.print(`${terminal.style("bold", row.robot_type_id)}  ${row.display_name}`);
  terminal.table(
    ["", ""],
    [
      ["hosted", row.hosted ? "yes: registers by id alone" : "not known to be; the service may refuse it"],
      ["topology", row.topology],
      ["actions", `${row.action_semantics}, ${row.control_rate_hz} Hz`],
      ["axes", `${state_axes} state, ${action_axes} action`],
      ["cameras", describeCameras(row.cameras)],
      ["source", row.source],
    ],
  );
  terminal.print("");
  terminal.table(
    ["group", "kind", "unit", "elements, in vector order"],
    row.groups.map((group) => [group.name, group.kind, unitOf(group), elementsOf(group)]),
  );
}

function describeCameras(cameras: CatalogRow["cameras"]): string {
  if (cameras === "user") return "declared by whoever installs the robot";
  return cameras.map(({ role, width, height }) => `${role} ${width}×${height}`).join(", ");
}

function unitOf({ unit, angle_unit }: CatalogGroup): string {
  return unit ?? angle_unit ?? "";
}

function elementsOf({ kind, elements, rotation }: CatalogGroup): string {
  if (elements !== undefined) return elements.join(" ");
  return kind === "eef" ? `x y z and rotation as ${rotation ?? "none"}` : kind;
}
