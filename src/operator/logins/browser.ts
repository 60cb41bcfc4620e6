import { spawn } from "node:child_process";
import { platform } from "node:os";

import type { OperatorContext } from "../context.ts";

/** Programs that open an address in the person's browser: Linux and BSD, Windows behind WSL, macOS. */
const OPENERS = ["xdg-open", "wslview"] as const;

/** Starts the person's browser where there seems to be one, and does not wait for it. The address is shown anyway. */
export function openBrowser(url: string, environment: OperatorContext["environment"]): void {
  const isMac = platform() === "darwin";
  const [opener, ...others] = isMac ? ["open"] : OPENERS;
  if ((isMac || hasScreen(environment)) && opener !== undefined) start(opener, others, url, environment);
}

/** Whether the person sits at the other end of an ssh, so that their browser reaches nothing that listens here. */
export function isAtOtherEnd(environment: OperatorContext["environment"]): boolean {
  return (environment["SSH_CONNECTION"] ?? "") !== "" && !hasScreen(environment);
}

function hasScreen(environment: OperatorContext["environment"]): boolean {
  return SCREENS.some((name) => (environment[name] ?? "") !== "");
}

/** What says that somebody sits in front of this computer, and not at the other end of an ssh. */
const SCREENS = ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "BROWSER"] as const;

function start(
  opener: string,
  others: readonly string[],
  url: string,
  environment: OperatorContext["environment"],
): void {
  // A browser that is started here would have the key otherwise.
  const { ROBOT_POLICY_API_KEY: _key, ...env } = environment;
  const child = spawn(opener, [url], { stdio: "ignore", detached: true, env });
  child.on("error", () => {
    const [next, ...rest] = others;
    if (next !== undefined) start(next, rest, url, environment);
  });
  child.unref();
}
