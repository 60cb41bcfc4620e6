/**
 * The three programs as tests start them: the release bundles, built once for all test files (run/global-setup.ts). They start three times
 * as fast as their sources. Scripts outside of Vitest use the sources.
 */
import { join } from "node:path";

const root = join(import.meta.dirname, "../../..");
/** In place of the folder in the gate, where no test starts one: a start fails, and its message names the reason. */
export const UNTAGGED_PROGRAMS = "/this-test-needs-the-tag/needs/program";

/** Folder of the bundles, set by run/global-setup.ts. */
const folder = process.env["ROBOT_POLICY_TEST_PROGRAMS"];

export const AGENT_PROGRAM = programPath("robot-policy-agent", "agent");
export const OPERATOR_PROGRAM = programPath("robot-policy", "operator");
export const SERVICE_PROGRAM = programPath("robot-policy-service", "service");

/** The service's console as released. */
export const BUILT_CONSOLE = join(folder ?? join(root, "dist"), "console");

/** Caches compiled code between starts, as the agent's systemd unit does. For programs that do not inherit the tests' environment. */
export const COMPILE_CACHE: Readonly<Record<string, string>> =
  folder === undefined || folder === UNTAGGED_PROGRAMS ? {} : { NODE_COMPILE_CACHE: join(folder, "compiled") };

function programPath(name: string, source: string): string {
  return folder === undefined ? join(root, `src/${source}.ts`) : join(folder, `${name}.cjs`);
}
