import { shellWord } from "../platform/shell-word.ts";
import type { Terminal } from "../platform/terminal.ts";
import { NAME, SERVICE_USER } from "./layout.ts";
import type { RemovalPlan } from "./plan-removal.ts";
import { describeRemoval, removalForJson } from "./removal.ts";

/** What of the robot's own is still there. */
export interface Left {
  readonly trees: readonly string[];
  readonly has_user: boolean;
  /** The user may still read the files that `grant` opened. */
  readonly has_grants: boolean;
}

export interface ShownRemoval {
  readonly terminal: Terminal;
  readonly is_dry: boolean;
  readonly is_json: boolean;
  /** Null for this machine. */
  readonly image: string | null;
}

export function showRemoval(
  { removals, kept }: RemovalPlan,
  left: Left,
  { terminal, is_dry, is_json, image }: ShownRemoval,
): void {
  const command = commandFor(left, image);
  if (is_json) {
    terminal.json({
      changed: removals.length > 0,
      dry_run: is_dry,
      root: image ?? "/",
      changes: removals.map(removalForJson),
      kept,
      left: left.trees,
      leaves_user: left.has_user,
      leaves_grants: left.has_grants,
      next: command === null ? [] : [command],
    });
    return;
  }
  const where = image === null ? "" : ` in ${image}`;
  if (is_dry) for (const removal of removals) terminal.print(`would ${describeRemoval(removal)}`);
  if (removals.length === 0) terminal.print(`Nothing to remove: ${NAME} is not installed${where}`);
  else if (!is_dry) terminal.print(`${terminal.style("good", "ok")} ${NAME} is removed${where}`);
  for (const path of kept) terminal.note(`${terminal.style("warn", "kept")}: ${path} was edited and stays`);
  if (left.has_grants) {
    terminal.note(`The access to files that was granted stays. ${NAME} grant --revoke takes it back, before or after.`);
  }
  if (command === null) return;
  const user = left.has_user ? [`the user ${SERVICE_USER}`] : [];
  terminal.print(`Left: ${[...left.trees, ...user].join(", ")}. To remove that too:`);
  terminal.print(`  ${command}`);
}

/** The program is gone by then, so that it takes others. */
function commandFor({ trees, has_user }: Left, image: string | null): string | null {
  if (trees.length === 0 && !has_user) return null;
  if (image !== null) return `${NAME} uninstall --root ${shellWord(image)} --purge`;
  const removing = trees.length === 0 ? [] : [`rm -r ${trees.join(" ")}`];
  return [...removing, ...(has_user ? [`userdel ${SERVICE_USER}`] : [])].join("; ");
}
