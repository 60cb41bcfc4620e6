import type { RobotContract } from "../../api/contract.ts";
import { robotContractSchema } from "../../api/contract.ts";
import { CONTRACT_SCHEMA } from "../../api/robot-terms.ts";
import type { Terminal } from "../../platform/terminal.ts";
import { DOCUMENT_REMEDY, noteHidden } from "../lists/columns.ts";
import { showFacts } from "../lists/show-facts.ts";

/** Shows a contract as tables, or as JSON where it has another schema than this project's. */
export function showContract(contract: Readonly<Record<string, unknown>>, terminal: Terminal): void {
  const read = contract["schema"] === CONTRACT_SCHEMA ? robotContractSchema.safeParse(contract) : null;
  if (read?.success !== true) {
    terminal.print(JSON.stringify(contract, null, 2));
    return;
  }
  const robot = read.data;
  terminal.print("");
  showFacts(terminal, [
    ["topology", robot.topology],
    ["actions", robot.action_semantics],
    ["gripper", robot.gripper],
    ["control rate", `${robot.control_rate_hz} Hz`],
  ]);
  showCameras(robot.cameras, terminal);
  showAxes("state axes", robot.state_axes, terminal);
  showAxes("action axes", robot.action_axes, terminal);
}

function showCameras(cameras: RobotContract["cameras"], terminal: Terminal): void {
  terminal.print(`\n${terminal.style("bold", "cameras")}`);
  terminal.table(
    ["role", "mount", "image", "rate", "turned"],
    cameras.map(({ role, mount, side, width, height, fps, rotation_degrees: rotationDegrees }) => [
      role,
      side === undefined ? mount : `${mount} ${side}`,
      `${width} × ${height}`,
      `${fps} fps`,
      rotationDegrees === 0 ? "" : `${rotationDegrees}°`,
    ]),
  );
}

type Axis = RobotContract["state_axes"][number] & { readonly max_step?: number | undefined };

/** Numbered by their index in the vector. */
function showAxes(title: string, axes: readonly Axis[], terminal: Terminal): void {
  terminal.print(`\n${terminal.style("bold", title)}, in vector order`);
  const hidden = terminal.table(
    ["#", "axis", "unit", "range", "step", "robot's own"],
    axes.map(({ name, unit, range, max_step: maxStep, native }, index) => [
      String(index),
      name,
      unit,
      range === undefined ? "" : `${range[0]} … ${range[1]}`,
      maxStep === undefined ? "" : String(maxStep),
      native === undefined ? "" : `${native.unit} × ${native.scale} + ${native.offset}`,
    ]),
    [],
    ["robot's own", "step"],
  );
  noteHidden(hidden, DOCUMENT_REMEDY, terminal);
}
