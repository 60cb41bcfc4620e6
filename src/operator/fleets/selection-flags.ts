import type { Terminal } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { defined } from "../../platform/defined.ts";
import type { OperatorFlags } from "../flags.ts";
import { refuseFlags } from "../refuse.ts";
import type { WrittenSelection, WrittenSelector } from "./file.ts";

/** Parses `team=a`. @returns null after reporting a label without `=`, or one that is given twice. */
export function readLabels(texts: readonly string[], terminal: Terminal): Readonly<Record<string, string>> | null {
  const labels = new Map<string, string>();
  for (const text of texts) {
    const at = text.indexOf("=");
    if (at < 1) {
      return refuseFlags(`--label '${text}' is not name=value`, "write it as --label cell=4", terminal);
    }
    const name = text.slice(0, at);
    if (labels.has(name)) {
      return refuseFlags(`--label '${name}' is given twice`, "a label has one value; leave one of them out", terminal);
    }
    labels.set(name, text.slice(at + 1));
  }
  return Object.fromEntries(labels);
}

/** @returns undefined without selection flags; null after reporting what is wrong with them. */
export function readSelection(flags: OperatorFlags, terminal: Terminal): WrittenSelection | undefined | null {
  const { robot, site, region, type, label } = flags;
  const isSelector = [site, region, type, label].some((flag) => flag !== undefined);
  if (robot !== undefined) return { robots: robot };
  if (!isSelector) return undefined;
  const labels = readLabels(label ?? [], terminal);
  if (labels === null) return null;
  return { selector: defined({ site, region, robot_type_id: type, labels: label === undefined ? undefined : labels }) };
}

/** A selector as the flags that make it, quoted for a shell. */
export function selectorInFlags({ site, region, robot_type_id: robotTypeId, labels }: WrittenSelector): string {
  const flags = [
    ["--site", site],
    ["--region", region],
    ["--type", robotTypeId],
    ...Object.entries(labels ?? {}).map(([name, value]) => ["--label", `${name}=${value}`]),
  ];
  return flags.flatMap(([flag, value]) => (typeof value === "string" ? [`${flag} ${shellWord(value)}`] : [])).join(" ");
}
