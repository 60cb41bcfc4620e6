import { spawn } from "node:child_process";

import systemdNotify from "systemd-notify";

/** What the service manager is told. Every method returns at once and never throws: a lost notification must not harm the robot. */
export interface Notify {
  /** READY=1, together with a first status line. */
  ready(status: string): void;
  /** STATUS=…, one line for `systemctl status`. */
  status(text: string): void;
  stopping(): void;
  watchdog(): void;
  /** How often the manager wants a sign of life, in milliseconds; null when it wants none (sd_watchdog_enabled(3)). */
  readonly watchdog_ms: number | null;
}

/** The part of the environment that sd_notify(3) and sd_watchdog_enabled(3) define. */
export interface NotifyEnvironment {
  readonly NOTIFY_SOCKET?: string | undefined;
  readonly WATCHDOG_USEC?: string | undefined;
  readonly WATCHDOG_PID?: string | undefined;
}

const silent: Notify = { ready() {}, status() {}, stopping() {}, watchdog() {}, watchdog_ms: null };

/** STATUS lines longer than this help nobody who reads `systemctl status`. */
const STATUS_LIMIT = 256;

/** Talks to systemd where NOTIFY_SOCKET is set; elsewhere all of it is a no-op. */
export function createNotify(environment: NotifyEnvironment, process_id: number): Notify {
  if (environment.NOTIFY_SOCKET === undefined || environment.NOTIFY_SOCKET === "") return silent;

  // One systemd-notify(1) at a time, so that a status never overtakes a newer one; of waiting statuses only the last counts.
  let sending = false;
  let waiting_status: string | null = null;

  function send(message: () => Promise<unknown>): void {
    sending = true;
    void message()
      .catch(() => {})
      .then(() => {
        sending = false;
        const text = waiting_status;
        waiting_status = null;
        if (text !== null) send(async () => sendStatus(text));
      });
  }

  return {
    ready(status) {
      // Started before this returns: what the program does next would delay it.
      send(async () => systemdNotify({ ready: true, status: oneLine(status), pid: process_id }));
    },
    status(text) {
      if (sending) waiting_status = text;
      else send(async () => sendStatus(text));
    },
    stopping: () => void notify(["STOPPING=1"]),
    watchdog: () => void notify(["WATCHDOG=1"]),
    watchdog_ms: watchdogPeriod(environment, process_id),
  };

  /** Not by the npm package: where a process cannot be had (EMFILE) its error has no listener, and would end the agent. */
  function sendStatus(text: string): Promise<void> {
    return notify([`--pid=${process_id}`, `--status=${oneLine(text)}`]);
  }
}

/** Runs systemd-notify(1), which takes any VAR=VALUE; resolves when it has ended, and never rejects. */
async function notify(words: readonly string[]): Promise<void> {
  try {
    const child = spawn("systemd-notify", words, { stdio: "ignore" });
    child.unref();
    await new Promise<void>((resolve) => {
      child.once("error", () => resolve());
      child.once("close", () => resolve());
    });
  } catch {
    // ENOMEM is thrown, not emitted.
  }
}

function watchdogPeriod(environment: NotifyEnvironment, process_id: number): number | null {
  const period_us = Number(environment.WATCHDOG_USEC ?? "");
  if (!Number.isSafeInteger(period_us) || period_us <= 0) return null;
  const meant_for = environment.WATCHDOG_PID;
  if (meant_for !== undefined && meant_for !== "" && meant_for !== String(process_id)) return null;
  return period_us / 1000;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").slice(0, STATUS_LIMIT);
}
