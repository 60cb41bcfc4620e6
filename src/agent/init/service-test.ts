import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import type { Folders } from "../configuration/folders.ts";
import type { CheckId } from "../doctor/check.ts";
import { diagnoseService } from "../doctor/diagnosis.ts";

/** What doctor's checks say of a service that is about to be configured. */
export interface ServiceTest {
  /** The first failure is the cause of those that it keeps from being looked at. */
  readonly failures: readonly ServiceFailure[];
  /** `untested` where the service was not reached; `missing` where there is none that the agent could use. */
  readonly key: "accepted" | "refused" | "untested" | "missing";
  /** Where the service has endpoints, if it has none in the configured region; empty where it does not tell. */
  readonly regionsInstead: readonly string[];
}

export interface ServiceFailure {
  readonly id: CheckId;
  readonly what: string;
  readonly remedy: string;
  /** Another `service.ca_file` is wanted. */
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
