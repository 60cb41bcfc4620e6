import { spawn } from "node:child_process";
import { platform } from "node:os";

import type { OperatorContext } from "../context.ts";

/** Programs that open a URL in the default browser: Linux and BSD, WSL, macOS. */
const OPENERS = ["xdg-open", "wslview"] as const;

/** Opens the browser if this computer seems to have one, and does not wait for it. The caller prints the address in any case. */
export function openBrowser(url: string, environment: OperatorContext["environment"]): void {
  const isMac = platform() === "darwin";
  const [opener, ...others] = isMac ? ["open"] : OPENERS;
  if ((isMac || hasScreen(environment)) && opener !== undefined) start(opener, others, url, environment);
}

/** Whether this is an ssh session: the operator's browser is then on another computer, and cannot reach a listener here. */
export function isRemoteSession(environment: OperatorContext["environment"]): boolean {
  return (environment["SSH_CONNECTION"] ?? "") !== "" && !hasScreen(environment);
}

function hasScreen(environment: OperatorContext["environment"]): boolean {
  return SCREENS.some((name) => (environment[name] ?? "") !== "");
}

/** Variables of a graphical session on this computer. */
const SCREENS = ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "BROWSER"] as const;

function start(
  opener: string,
  others: readonly string[],
  url: string,
  environment: OperatorContext["environment"],
): void {
  // Keep the key out of the browser's environment.
  const { ROBOT_POLICY_API_KEY: _key, ...env } = environment;
  const child = spawn(opener, [url], { stdio: "ignore", detached: true, env });
  child.on("error", () => {
    const [next, ...rest] = others;
    if (next !== undefined) start(next, rest, url, environment);
  });
  child.unref();
}
