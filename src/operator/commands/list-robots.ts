import type { ExitCode } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { OperatorContext, OperatorFlags } from "../operator.ts";
import { openService, showFailure } from "../operator.ts";

/** `robots list`: every registered robot, oldest first. */
export async function listRobots(flags: OperatorFlags, context: OperatorContext): Promise<ExitCode> {
  const { terminal } = context;
  const client = openService(flags, context);
  if (client === null) return EXIT.usage;
  const result = await client.listRobots(context.signal);
  if (result.kind !== "ok") return showFailure(result, terminal);
  if (flags.json === true) {
    terminal.json(result.value);
    return EXIT.ok;
  }
  if (result.value.length === 0) terminal.note("No robots are registered yet.");
  else {
    terminal.table(
      ["name", "type", "region", "site", "since", "id"],
      result.value.map(({ name, robot_type_id, region, site, created_at, id }) => [
        name,
        robot_type_id,
        region,
        site ?? "",
        `${created_at.slice(0, 16)}Z`,
        id,
      ]),
    );
  }
  return EXIT.ok;
}
