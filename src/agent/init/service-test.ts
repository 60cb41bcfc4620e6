import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import type { Folders } from "../configuration/folders.ts";
import type { CheckId } from "../doctor/check.ts";
import { diagnoseService } from "../doctor/diagnosis.ts";

/** The results of doctor's checks for a new configuration. */
export interface ServiceTest {
  /** The failed checks, the cause first. */
  readonly failures: readonly ServiceFailure[];
  /** `untested` when the service was not reached; `missing` when the agent has no usable key. */
  readonly key: "accepted" | "refused" | "untested" | "missing";
  /** The service's regions when the configured one is not among them; empty otherwise. */
  readonly regionsInstead: readonly string[];
}

export interface ServiceFailure {
  readonly id: CheckId;
  readonly what: string;
  readonly remedy: string;
  /** True when another `service.ca_file` is needed. */
  readonly isAboutAuthority: boolean;
}

/** Tests address, certificate, key and region at once. @throws `context.signal.reason` when it aborts. */
export async function testService(
  configuration: AgentConfiguration,
  folders: Folders,
  context: CommandContext,
): Promise<ServiceTest> {
  const failures: ServiceFailure[] = [];
  let key: ServiceTest["key"] = "missing";
  let regionsInstead: readonly string[] = [];
  for await (const { id, verdict } of diagnoseService(context, folders, configuration)) {
    if (id === "key" && verdict.status === "ok") key = "untested";
    if (id === "authentication" && verdict.status !== "skip") key = verdict.status === "fail" ? "refused" : "accepted";
    if (verdict.status === "warn" && verdict.regions !== undefined) regionsInstead = verdict.regions;
    if (verdict.status !== "fail") continue;
    const { what, remedy, isAboutAuthority = false } = verdict;
    failures.push({ id, what, remedy, isAboutAuthority });
  }
  return { failures, key, regionsInstead };
}
