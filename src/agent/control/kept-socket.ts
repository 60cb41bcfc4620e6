import type { Clock } from "../../platform/clock.ts";
import { errorCode } from "../../platform/files/files.ts";
import type { Log } from "../../platform/log/log.ts";
import type { ControlledAgent } from "./answers.ts";
import { serveControlSocket } from "./socket.ts";

/** A control socket that can be opened later. The agent works without it; commands that need the socket do not. */
export interface KeptControlSocket extends AsyncDisposable {
  /** Opens the socket unless it is open. Only the first failure is logged; call again to retry. */
  open(agent: ControlledAgent): Promise<void>;
}

export function keepControlSocket(path: string, clock: Clock, log: Log): KeptControlSocket {
  let socket: AsyncDisposable | null = null;
  let opening: Promise<void> | null = null;
  let hasFailed = false;

  async function tryOpening(agent: ControlledAgent): Promise<void> {
    try {
      socket = await serveControlSocket(agent, path, clock);
      if (hasFailed) log.info("control-socket-opened", { path });
    } catch (error) {
      if (!hasFailed) log.warn("control-socket-failed", { path, code: errorCode(error) });
      hasFailed = true;
    } finally {
      opening = null;
    }
  }

  return {
    async open(agent) {
      if (socket !== null) return;
      opening ??= tryOpening(agent);
      await opening;
    },
    async [Symbol.asyncDispose]() {
      await opening;
      await socket?.[Symbol.asyncDispose]();
    },
  };
}
