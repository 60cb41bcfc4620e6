import { hardwareLine } from "../../hardware/hardware.ts";
import { LIST_LIMIT_MS, type Listed, listHardware, METADATA } from "../../hardware/list.ts";
import { findTwins } from "../../hardware/twins.ts";
import { within } from "../../platform/clock.ts";
import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import type { CommandContext, CommonOptions } from "./context.ts";

/** `devices`: what there is that a manifest may list, with the lines for it. Needs no configuration. */
export async function devices(
  options: CommonOptions,
  { terminal, machine, signal }: CommandContext,
): Promise<ExitCode> {
  const found = await within(listHardware(machine.files, signal), LIST_LIMIT_MS, machine.clock, signal);
  if (found === null) {
    terminal.problem({
      code: "devices-hang",
      what: `the system did not tell within ${LIST_LIMIT_MS / 1000} s what is plugged in`,
      where: "/sys/class",
      fix: "see which device hangs: sudo dmesg",
    });
    return EXIT.failed;
  }
  const list = found.filter(({ role }) => role !== METADATA);
  if (options.json === true) terminal.json({ devices: list.map(documentOf) });
  else show(list, terminal);
  return EXIT.ok;
}

function documentOf({ role, what, name, request, by, twins, entry, facts }: Listed) {
  return { role, what, name, ...request, by, twins, line: hardwareLine(facts, by), entry };
}

function show(list: readonly Listed[], terminal: Terminal): void {
  if (list.length === 0) {
    terminal.note("There is no camera, serial adapter or CAN interface.");
    return;
  }
  const rows = list.map(({ name, role, what, ...rest }) => [name, role, what, toldBy(rest)]);
  terminal.table(["name", "role", "what it is", "told by"], rows, ["what it is", "told by"]);
  terminal.heading("For configuration_files of the manifest", ", in the order of the robot's software:");
  terminal.printText(`${list.map(({ entry }) => `  ${entry}`).join("\n")}\n`);
  for (const { message } of findTwins(list, list)) terminal.warning(message);
}

/** What tells a device from others like it. */
function toldBy({ by, facts, twins }: Pick<Listed, "by" | "facts" | "twins">): string {
  if (by === "serial" && facts.serial !== undefined) return `serial ${facts.serial}`;
  return twins.length === 0 ? "port" : "port alone";
}
