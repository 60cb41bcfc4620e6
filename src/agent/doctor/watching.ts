import { explainAccess } from "../../access/access.ts";
import type { RobotManifest } from "../../manifest/manifest.ts";
import { readBounded } from "../../platform/files/durable-file.ts";
import type { Files } from "../../platform/files/files.ts";
import type { Machine } from "../../platform/machine.ts";
import type { AgentUser } from "../access/agent-user.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import type { Folders } from "../configuration/folders.ts";
import { listedFiles } from "../robot-setup.ts";
import type { StatusDocument } from "../status.ts";
import { type PlannedFolder, planWatches } from "../../look/folders.ts";
import { describeSilence, isDispensable } from "../../look/watch.ts";
import { ok, skip, type Verdict, warn } from "./check.ts";

const LIMITS_FOLDER = "/proc/sys/fs/inotify";
const LIMIT_BYTES = 64;

/**
 * Watches the agent's folders for a moment. Only warns, because without events the agent polls.
 *
 * @param watching the mode of the running agent: inotify limits are per user, so root's watches can succeed where the agent's fail.
 */
export async function checkInotify(
  { machine }: CommandContext,
  folders: Folders,
  configuration: AgentConfiguration | null,
  manifest: RobotManifest | null,
  agentUser: AgentUser,
  watching: StatusDocument["watching"],
  signal: AbortSignal,
): Promise<Verdict> {
  const directories = await planWatches(machine.files, watchedPaths(folders, configuration, manifest));
  const limits = await describeLimits(machine);
  const silent = [...directories].find(([, { reportsChanges }]) => !reportsChanges);
  if (silent !== undefined) {
    const what = `${describeSilence(silent[0])}; the agent polls instead`;
    return warn(what, "nothing, or move the files to a local disk; changes are seen within watch.poll_s");
  }
  const unlisted = await unlistedFolder(configuration, manifest, agentUser);
  if (unlisted !== null) {
    const what = `${agentUser.name} may not list ${unlisted}, which inotify requires; the agent polls instead`;
    return warn(what, "sudo robot-policy-agent grant");
  }
  const tried = await Promise.all(
    [...directories].map(([directory, planned]) => tryWatching(machine, directory, planned, signal)),
  );
  const failure = tried.find((outcome) => outcome !== null);
  if (failure === undefined && watching?.mode === "polling")
    return warn(
      `the agent polls: ${watching.reason} (${limits})`,
      "fix that; the agent tries again within watch.resync_s",
    );
  if (failure === undefined)
    return ok(`${directories.size} folder${directories.size === 1 ? "" : "s"} can be watched (${limits})`);
  if (agentUser.relation === "other" && failure.code === "EACCES")
    return skip(`this user may not list ${failure.directory}; perhaps the agent may`);
  const what = `${failure.directory} cannot be watched: ${explain(failure.code)} (${limits}); the agent polls instead`;
  return warn(what, remedyFor(failure.code));
}

function watchedPaths(
  folders: Folders,
  configuration: AgentConfiguration | null,
  manifest: RobotManifest | null,
): readonly string[] {
  if (configuration === null) return [folders.configPath];
  const files = listedFiles(configuration, manifest);
  return [folders.configPath, configuration.manifest, ...files.map(({ path }) => path)];
}

/** The folder of a configuration file that the agent's user may enter but not list, checked as that user. */
async function unlistedFolder(
  configuration: AgentConfiguration | null,
  manifest: RobotManifest | null,
  { probe, relation }: AgentUser,
): Promise<string | null> {
  if (configuration === null || probe === null || relation !== "root") return null;
  const paths = listedFiles(configuration, manifest).map(({ path }) => path);
  const accesses = await explainAccess(probe, paths);
  for (const access of accesses.values()) {
    if (access.kind === "readable" && access.unlisted !== null) return access.unlisted;
  }
  return null;
}

interface Failure {
  readonly directory: string;
  readonly code: string;
}

/** @returns null when the folder can be watched. */
function tryWatching(
  { events }: Machine,
  directory: string,
  planned: PlannedFolder,
  signal: AbortSignal,
): Promise<Failure | null> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => {
      watch.close();
      signal.removeEventListener("abort", onAbort);
      act();
    };
    const onAbort = () => settle(() => reject(signal.reason));
    const watch = events.watch(directory, {
      onEvent() {},
      onReady: () => settle(() => resolve(null)),
      onFailure: (code) => settle(() => resolve(isDispensable(planned, code) ? null : { directory, code })),
    });
    signal.addEventListener("abort", onAbort);
  });
}

function explain(code: string): string {
  switch (code) {
    case "ENOSPC":
      return "all inotify watches are in use";
    case "EMFILE":
      return "all inotify instances are in use";
    case "EACCES":
    case "EPERM":
      return "this user may not read it";
    default:
      return code;
  }
}

function remedyFor(code: string): string {
  switch (code) {
    case "ENOSPC":
      return "raise the limit: sysctl fs.inotify.max_user_watches=65536";
    case "EMFILE":
      return "raise the limit: sysctl fs.inotify.max_user_instances=512";
    default:
      return "let the agent's user read the folder";
  }
}

async function describeLimits({ files }: Machine): Promise<string> {
  const [watches, instances] = await Promise.all(
    ["max_user_watches", "max_user_instances"].map((name) => readKernelValue(files, `${LIMITS_FOLDER}/${name}`)),
  );
  return `limits: ${watches ?? "unknown"} watches, ${instances ?? "unknown"} instances`;
}

/** A value that the kernel shows as a file (proc(5)); null where it does not, as in some containers. */
async function readKernelValue(files: Files, path: string): Promise<string | null> {
  const bytes = await readBounded(files, path, LIMIT_BYTES).catch(() => "too-large" as const);
  return bytes === "too-large" ? null : Buffer.from(bytes).toString("latin1").trim();
}
