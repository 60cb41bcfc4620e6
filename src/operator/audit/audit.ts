import { beyondSpec } from "../../api/api.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import { AUDIT, auditItem, type AuditItem, isSignIn } from "../../views/audit.ts";
import { command, type OperatorRow } from "../command.ts";
import { CSV, type Given, LIST, onOff, text } from "../flags.ts";
import { keepListed, mapListed } from "../lists/listed.ts";
import { showList } from "../lists/show-list.ts";
import { tableOf } from "../lists/shown.ts";
import { readTimeFlag, SINCE_FORMS } from "../times.ts";
import { refuseUsage } from "../refuse.ts";
import type { Service } from "../service.ts";

const FLAGS = {
  since: text("<when>", SINCE_FORMS),
  until: text("<when>", "end, in the same formats (default: now)"),
  by: text("<actor>", "only what this key, session or robot did, by label, name or id"),
  signIns: onOff("also show who signed in and out"),
  ...CSV,
  ...LIST,
};

/** Who changed what. */
export const auditCommands: readonly OperatorRow[] = [
  command({
    name: "audit",
    summary: "show who changed what",
    flags: FLAGS,
    examples: [
      "robot-policy audit --since 7d",
      "robot-policy audit --since 2026-10-01 --until 2026-11-01 --by 'line 4' --csv > october.csv",
    ],
    run: audit,
  }),
];

/** Changes, newest first. */
async function audit(service: Service, flags: Given<typeof FLAGS>): Promise<ExitCode> {
  const { terminal, context } = service;
  const { by, signIns = false } = flags;
  const since = readTimeFlag("--since", flags.since ?? "30d", context);
  const until = flags.until === undefined ? undefined : readTimeFlag("--until", flags.until, context);
  if (since === null || until === null) return EXIT.usage;
  const untilMs = until?.timeMs ?? Number.POSITIVE_INFINITY;
  if (since.timeMs >= untilMs) {
    return refuseUsage("--since is not before --until", "give the earlier time to --since", terminal);
  }
  const listed = await service.listAll(beyondSpec.listAudit, ({ items }) => items, {
    // Newest first. The clocks of replicas may differ, so one older entry alone is not the end.
    isLast: ({ items }) => items.every(({ at }) => Date.parse(at) < since.timeMs),
  });
  if (listed.kind !== "ok") return service.failed(listed);
  const isShown = (item: AuditItem) => {
    const atMs = Date.parse(item.at);
    const isBy = by === undefined || by === item.by || by === item.actor_id;
    return atMs >= since.timeMs && atMs < untilMs && isBy && (signIns || !isSignIn(item));
  };
  const value = keepListed(mapListed(listed.value, auditItem), isShown);
  return showList(service, { ...listed, value }, tableOf(AUDIT));
}
