import { ChildProcess, spawn } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";

import systemdNotify from "systemd-notify";

import { errorCode } from "../files/files.ts";
import { visible } from "../text/visible.ts";

/** What the service manager is told. Every method returns at once and never throws: a lost notification must not harm the robot. */
export interface Notify {
  /** READY=1, together with a first status line. */
  ready(status: string): void;
  /** STATUS=…, one line for `systemctl status`. */
  status(text: string): void;
  stopping(): void;
  watchdog(): void;
  /** How often the manager wants a sign of life, in milliseconds; null when it wants none (sd_watchdog_enabled(3)). */
  readonly watchdogMs: number | null;
}

/** The part of the environment that sd_notify(3) and sd_watchdog_enabled(3) define. */
export interface NotifyEnvironment {
  readonly NOTIFY_SOCKET?: string | undefined;
  readonly WATCHDOG_USEC?: string | undefined;
  readonly WATCHDOG_PID?: string | undefined;
}

const silent: Notify = { ready() {}, status() {}, stopping() {}, watchdog() {}, watchdogMs: null };

/** STATUS lines longer than this help nobody who reads `systemctl status`. */
const STATUS_LIMIT = 256;
const RETRY_MS = 1000;

/** Talks to systemd where NOTIFY_SOCKET is set; elsewhere all of it is a no-op. */
export function createNotify(environment: NotifyEnvironment, processId: number): Notify {
  if (environment.NOTIFY_SOCKET === undefined || environment.NOTIFY_SOCKET === "") return silent;

  // One systemd-notify(1) at a time, so that a status never overtakes a newer one; of waiting statuses only the last counts.
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
    // One is repeated, however many failed. One that hangs keeps the next from nothing.
    if ((await tell()) === "ended" || repeatsPing) return;
    repeatsPing = true;
    await insist(tell);
    repeatsPing = false;
  }

  return {
    ready(status) {
      // Started before this returns: what the program does next would delay it.
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

/** `no-process` where the machine had none to give (EMFILE, EAGAIN, ENOMEM), which may be over in a moment. */
type Delivery = "ended" | "no-process";

/** A READY that is lost would have the manager end the program, a sign of life as well. */
async function insist(message: () => Promise<Delivery>): Promise<void> {
  while ((await message()) === "no-process") {
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref());
  }
}

async function tellReady(status: string, pid: number): Promise<Delivery> {
  // Where no pipe is to be had the package fails before it listens to its child, whose error would end the program.
  subscribe(CHILDREN, listenToErrors);
  const told = systemdNotify({ ready: true, status, pid });
  unsubscribe(CHILDREN, listenToErrors);
  try {
    await told;
    return "ended";
  } catch (error) {
    // What systemd-notify(1) itself complains of comes as text.
    return error instanceof Error ? deliveryAfter(error) : "ended";
  }
}

/** Each new process of this one (`node:diagnostics_channel`, "child_process"). */
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
  // Where there is no systemd-notify(1) there will be none later.
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
