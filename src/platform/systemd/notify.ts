import { ChildProcess, spawn } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";

import systemdNotify from "systemd-notify";

import type { Clock } from "../clock.ts";
import { errorCode } from "../files/files.ts";
import { visible } from "../text/visible.ts";

/** Notifications to systemd. Every method returns at once and never throws: a lost notification must not stop the agent. */
export interface Notify {
  /** READY=1, together with a first status line. */
  ready(status: string): void;
  /** STATUS=…, one line for `systemctl status`. */
  status(text: string): void;
  stopping(): void;
  watchdog(): void;
  /** The watchdog timeout in milliseconds; null without a watchdog (sd_watchdog_enabled(3)). */
  readonly watchdogMs: number | null;
}

/** The environment variables of sd_notify(3) and sd_watchdog_enabled(3). */
export interface NotifyEnvironment {
  readonly NOTIFY_SOCKET?: string | undefined;
  readonly WATCHDOG_USEC?: string | undefined;
  readonly WATCHDOG_PID?: string | undefined;
}

const silent: Notify = { ready() {}, status() {}, stopping() {}, watchdog() {}, watchdogMs: null };

/** The limit of a STATUS line, for readers of `systemctl status`. */
const STATUS_LIMIT = 256;
const RETRY_MS = 1000;

/** Notifies systemd when NOTIFY_SOCKET is set; otherwise every method is a no-op. */
export function createNotify(environment: NotifyEnvironment, processId: number): Notify {
  if (environment.NOTIFY_SOCKET === undefined || environment.NOTIFY_SOCKET === "") return silent;

  // One systemd-notify(1) at a time, so that an older status never arrives after a newer one; only the last waiting status is sent.
  let sending = false;
  let waitingStatus: string | null = null;
  let repeatsPing = false;

  async function send(message: () => Promise<Delivery>): Promise<void> {
    sending = true;
    await insist(message);
    sending = false;
    const text = waitingStatus;
    waitingStatus = null;
    if (text !== null) sendStatus(text);
  }

  function sendStatus(text: string): void {
    void send(() => notify([`--pid=${processId}`, `--status=${oneLine(text)}`]));
  }

  async function ping(): Promise<void> {
    const tell = () => notify(["WATCHDOG=1"]);
    // Only one retry is pending at a time. A hanging process does not block the next one.
    if ((await tell()) === "ended" || repeatsPing) return;
    repeatsPing = true;
    await insist(tell);
    repeatsPing = false;
  }

  return {
    ready(status) {
      // Started before this returns, because the next work of the program would delay it.
      void send(() => tellReady(oneLine(status), processId));
    },
    status(text) {
      if (sending) waitingStatus = text;
      else sendStatus(text);
    },
    stopping: () => void notify(["STOPPING=1"]),
    watchdog: () => void ping(),
    watchdogMs: watchdogPeriod(environment, processId),
  };
}

/** `no-process` when no process could be started (EMFILE, EAGAIN, ENOMEM), which may be temporary. */
type Delivery = "ended" | "no-process";

/** Retried, because systemd ends the program when READY or a watchdog ping is lost. */
async function insist(message: () => Promise<Delivery>): Promise<void> {
  while ((await message()) === "no-process") {
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref());
  }
}

async function tellReady(status: string, pid: number): Promise<Delivery> {
  // When no pipe can be created, the package fails before it handles the error event of its child, which would end the program.
  subscribe(CHILDREN, listenToErrors);
  const told = systemdNotify({ ready: true, status, pid });
  unsubscribe(CHILDREN, listenToErrors);
  try {
    await told;
    return "ended";
  } catch (error) {
    // Error messages of systemd-notify(1) are plain strings.
    return error instanceof Error ? deliveryAfter(error) : "ended";
  }
}

/** Called for each new child process (`node:diagnostics_channel`, "child_process"). */
const CHILDREN = "child_process";

function listenToErrors(message: unknown): void {
  if (typeof message !== "object" || message === null || !("process" in message)) return;
  if (message.process instanceof ChildProcess) message.process.on("error", () => {});
}

/** Runs systemd-notify(1), which takes any VAR=VALUE; resolves when it has ended, and never rejects. */
async function notify(words: readonly string[]): Promise<Delivery> {
  try {
    const child = spawn("systemd-notify", words, { stdio: "ignore" });
    child.unref();
    return await new Promise((resolve) => {
      child.once("error", (error) => resolve(deliveryAfter(error)));
      child.once("close", () => resolve("ended"));
    });
  } catch {
    // ENOMEM is thrown, not emitted.
    return "no-process";
  }
}

function deliveryAfter(error: Error): Delivery {
  // When systemd-notify(1) is not installed, do not retry.
  return errorCode(error) === "ENOENT" ? "ended" : "no-process";
}

function watchdogPeriod(environment: NotifyEnvironment, processId: number): number | null {
  const periodUs = Number(environment.WATCHDOG_USEC ?? "");
  if (!Number.isSafeInteger(periodUs) || periodUs <= 0) return null;
  const meantFor = environment.WATCHDOG_PID;
  if (meantFor !== undefined && meantFor !== "" && meantFor !== String(processId)) return null;
  return periodUs / 1000;
}

function oneLine(text: string): string {
  return visible(text.replaceAll(/\s+/g, " ").slice(0, STATUS_LIMIT));
}

/**
 * Sends watchdog pings at half the timeout until the signal aborts (sd_watchdog_enabled(3)). They depend only on the event loop: a database
 * or service that is down is no reason to restart the program.
 */
export async function feedWatchdog(
  notify: Pick<Notify, "watchdog" | "watchdogMs">,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  if (notify.watchdogMs === null) return;
  while (!signal.aborted) {
    notify.watchdog();
    await clock.sleep(notify.watchdogMs / 2, signal).catch(() => {});
  }
}
