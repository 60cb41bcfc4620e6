import type { Finding } from "../../manifest/finding.ts";
import type { OperationContext } from "../kernel/operation.ts";
import { applyCatalogFile } from "./apply.ts";
import { readCatalogFile } from "./catalog-file.ts";
import { countChanges } from "./plan.ts";

/** Maximum number of findings in a log line; the command of `fix` shows all. */
const LOGGED_FINDINGS_MAXIMUM = 10;

/**
 * Applies the catalog at `path` to the store.
 *
 * @returns null, or the problem with the catalog; then the store is unchanged.
 */
export async function applyModels(
  path: string,
  context: Pick<OperationContext, "store" | "newId" | "machine">,
): Promise<readonly Finding[] | null> {
  const { files, log } = context.machine;
  const reading = await readCatalogFile(files, path);
  if (reading.state === "refused") return reading.findings;
  const outcome = await applyCatalogFile(context, reading.file);
  if (outcome.state === "refused") return outcome.findings;
  const warnings = describeFindings(reading.file.findings);
  if (warnings.length > 0) log.warn("models_suspicious", { path, findings: warnings });
  log.info("models_applied", { path, ...countChanges(outcome.changes) });
  return null;
}

/** Like `applyModels`, for a running service: a problem is logged. */
export async function reapplyModels(path: string, context: OperationContext): Promise<void> {
  const findings = await applyModels(path, context);
  context.nudge();
  if (findings === null) return;
  const fix = `robot-policy-service models apply --dry-run ${path}`;
  context.machine.log.error("models_refused", { path, findings: describeFindings(findings), fix });
}

function describeFindings(findings: readonly Finding[]): readonly string[] {
  return findings.slice(0, LOGGED_FINDINGS_MAXIMUM).map(({ line, column, message }) => `${line}:${column}: ${message}`);
}
