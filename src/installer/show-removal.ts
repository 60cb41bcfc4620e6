import type { Terminal } from "../platform/terminal.ts";
import { shellWord } from "../platform/text/shell-word.ts";
import { describeRemoval, removalForJson } from "./apply/removal.ts";
import { NAME, SERVICE_USER, STATE_FOLDER } from "./layout.ts";
import type { RemovalPlan } from "./plan/plan-removal.ts";

/** What `uninstall` leaves behind. */
export interface Left {
  readonly trees: readonly string[];
  readonly hasUser: boolean;
  /** The user can still read the files of `grant`. */
  readonly hasGrants: boolean;
}

export interface ShownRemoval {
  readonly terminal: Terminal;
  readonly isDry: boolean;
  readonly isJson: boolean;
  /** How a shell calls this program. */
  readonly program: string;
  /** Null for this machine. */
  readonly image: string | null;
}

export function showRemoval(
  { removals, kept, linked }: RemovalPlan,
  left: Left,
  { terminal, isDry, isJson, image, program }: ShownRemoval,
): void {
  const command = commandFor(left, image, program);
  if (isJson) {
    terminal.json({
      changed: removals.length > 0,
      dry_run: isDry,
      root: image ?? "/",
      changes: removals.map(removalForJson),
      kept: [...kept, ...linked.map(({ target }) => target)],
      left: left.trees,
      leaves_user: left.hasUser,
      leaves_grants: left.hasGrants,
      next: command === null ? [] : [command],
    });
    return;
  }
  const where = image === null ? "" : ` in ${image}`;
  if (isDry) for (const removal of removals) terminal.print(`would ${describeRemoval(removal)}`);
  if (removals.length === 0) terminal.print(`Nothing to remove: ${NAME} is not installed${where}`);
  else if (!isDry) terminal.print(`${terminal.style("good", "ok")} ${NAME} is removed${where}`);
  for (const path of kept) terminal.note(`${terminal.style("warn", "kept")}: ${path} was edited and stays`);
  for (const { path, target } of linked) {
    terminal.note(`${terminal.style("warn", "kept")}: ${path} is a link; what it leads to stays: ${target}`);
  }
  if (removals.some((removal) => "path" in removal && removal.path === STATE_FOLDER))
    terminal.note(
      "The service still knows a robot that was registered here. To remove it there: robot-policy robots remove NAME",
    );
  if (left.hasGrants) {
    terminal.note(`The file access that was granted stays. An installed agent revokes it: sudo ${NAME} grant --revoke`);
  }
  if (command === null) return;
  const user = left.hasUser ? [`the user ${SERVICE_USER}`] : [];
  terminal.print(`Left: ${[...left.trees, ...user].join(", ")}. To remove that too, as root:`);
  terminal.print(`  ${command}`);
}

/** On this machine with rm and userdel, because `uninstall` has removed the program itself. */
function commandFor({ trees, hasUser }: Left, image: string | null, program: string): string | null {
  if (trees.length === 0 && !hasUser) return null;
  if (image !== null) return `${program} uninstall --root ${shellWord(image)} --purge`;
  const removing = trees.length === 0 ? [] : [`rm -r ${trees.join(" ")}`];
  return [...removing, ...(hasUser ? [`userdel ${SERVICE_USER}`] : [])].join("; ");
}
