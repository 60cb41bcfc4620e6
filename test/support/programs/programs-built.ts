/**
 * The three programs as tests start them: the bundles that ship, built once for all test files (run/global-setup.ts), which start three times as
 * fast as their sources. Outside of vitest, in scripts that use these supports, the sources.
 */
import { join } from "node:path";

const root = join(import.meta.dirname, "../../..");
/** Where run/global-setup.ts put the bundles. */
const folder = process.env["ROBOT_POLICY_TEST_PROGRAMS"];

export const AGENT_PROGRAM = programPath("robot-policy-agent", "agent");
export const OPERATOR_PROGRAM = programPath("robot-policy", "operator");
export const SERVICE_PROGRAM = programPath("robot-policy-service", "service");

/** The console of the service, as it ships. */
export const BUILT_CONSOLE = join(folder ?? join(root, "dist"), "console");

/** Keeps compiled code between starts, as the agent's systemd unit does. For programs that do not inherit the environment of the tests. */
export const COMPILE_CACHE: Readonly<Record<string, string>> =
  folder === undefined ? {} : { NODE_COMPILE_CACHE: join(folder, "compiled") };

function programPath(name: string, source: string): string {
  return folder === undefined ? join(root, `src/${source}.ts`) : join(folder, `${name}.cjs`);
}
