import { dirname } from "node:path";

import type { FileOwner } from "../platform/files/files.ts";
import type { ProgramResult, RunProgram } from "../platform/programs.ts";
import { ProgramFailed } from "./errors.ts";
import { SERVICE_UNIT, SERVICE_USER } from "./layout.ts";
import type { Tree } from "./tree.ts";

/** What systemd says of a unit. */
export interface UnitSeen {
  /** `inactive`, `active`, `activating`, `failed`. */
  readonly activeState: string;
  /** `enabled`, `disabled`, `masked`. */
  readonly unitFileState: string;
}

/** TimeoutStartSec= and TimeoutStopSec= of the unit, with a margin. */
const PROGRAM_LIMIT_MS = 120_000;
const DATABASE_LIMIT_BYTES = 4 * 1024 * 1024;
/** userdel(8) and groupdel(8): there is no such user or group. */
const ABSENT_EXIT_CODE = 6;

/** The programs of systemd and of the user database. Methods throw `ProgramFailed`. */
export class System {
  /** False for an image, where units can be enabled but not started. */
  readonly isRunning: boolean;
  readonly #runProgram: RunProgram;
  readonly #tree: Tree;

  constructor(runProgram: RunProgram, tree: Tree, isImage: boolean) {
    this.isRunning = !isImage;
    this.#runProgram = runProgram;
    this.#tree = tree;
  }

  async readUnit(unit: string): Promise<UnitSeen> {
    if (!this.isRunning) {
      // In an image systemctl only answers `is-enabled`; a unit that is not installed yet has no state.
      const result = await this.#try(this.#systemctl("is-enabled", unit));
      return { activeState: "inactive", unitFileState: result.kind === "ended" ? result.stdout.trim() : "" };
    }
    const shown = await this.#show(unit, "ActiveState,UnitFileState");
    return { activeState: shown.get("ActiveState") ?? "", unitFileState: shown.get("UnitFileState") ?? "" };
  }

  async reloadUnits(): Promise<void> {
    await this.run(this.#systemctl("daemon-reload"));
  }

  /** @param verb of systemctl(1). `reset-failed`: a failed unit stays listed after its file is gone. */
  async changeUnit(
    verb: "enable" | "disable" | "start" | "restart" | "stop" | "reset-failed",
    unit: string,
  ): Promise<void> {
    await this.run(this.#systemctl(verb, unit));
  }

  /** @param sysusers the lines of a sysusers.d(5) file. Given as arguments, because /etc, where it would lie, is the administrator's. */
  async addUser(sysusers: string): Promise<void> {
    const lines = sysusers.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    await this.run(["systemd-sysusers", ...this.#rootOption("--root"), "--inline", ...lines]);
  }

  async removeUser(): Promise<void> {
    // userdel has removed the group already where login.defs(5) sets USERGROUPS_ENAB.
    for (const program of ["userdel", "groupdel"])
      await this.run([program, ...this.#rootOption("--prefix"), SERVICE_USER], ABSENT_EXIT_CODE);
  }

  /** The service user; null where there is no such user. */
  async findUser(name = SERVICE_USER): Promise<FileOwner | null> {
    const row = await this.#readRow("passwd", name);
    return row === null ? null : { userId: Number(row[2]), groupId: Number(row[3]) };
  }

  async hasGroup(): Promise<boolean> {
    return (await this.#readRow("group", SERVICE_USER)) !== null;
  }

  /** The user that the service runs as: another than the service user with a drop-in, such as one of `grant --method owner`. */
  async findOwner(): Promise<FileOwner | null> {
    const user = this.isRunning ? (await this.#show(SERVICE_UNIT, "User")).get("User") : undefined;
    return this.findUser(user === "" ? undefined : user);
  }

  /**
   * Removes a folder with everything in it, or the link that is in its place. By rm(1), which never follows a link, not even one that the
   * folder's owner creates meanwhile; Node's rm may.
   */
  async removeTree(path: string): Promise<void> {
    await this.run(["rm", "-rf", "--", this.#tree.place(path)]);
    // A power cut must not bring back a key.
    await this.#tree.syncFolder(dirname(path));
  }

  /** @returns what a program printed. */
  async run(words: readonly string[], allowedExitCode = 0): Promise<string> {
    const result = await this.#try(words);
    if (result.kind === "ended" && [0, allowedExitCode].includes(result.exitCode)) return result.stdout;
    throw new ProgramFailed(words, reasonOf(result));
  }

  #try(words: readonly string[]): Promise<ProgramResult> {
    return this.#runProgram(words, { limitMs: PROGRAM_LIMIT_MS });
  }

  async #show(unit: string, properties: string): Promise<ReadonlyMap<string, string>> {
    const shown = await this.run(this.#systemctl("show", unit, `--property=${properties}`));
    return new Map([...shown.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]));
  }

  /** The fields of passwd(5) or group(5). getent(1) also knows the users of a directory service. */
  async #readRow(database: "passwd" | "group", name: string): Promise<readonly string[] | null> {
    let text = "";
    if (this.isRunning) {
      const result = await this.#try(["getent", database, name]);
      if (result.kind === "ended") text = result.stdout;
    } else text = (await this.#tree.readText(`/etc/${database}`, DATABASE_LIMIT_BYTES)) ?? "";
    const rows = text.split("\n").map((line) => line.split(":"));
    return rows.find(([each]) => each === name) ?? null;
  }

  #systemctl(...words: readonly string[]): readonly string[] {
    return ["systemctl", "--no-ask-password", ...this.#rootOption("--root"), ...words];
  }

  #rootOption(option: "--root" | "--prefix"): readonly string[] {
    return this.isRunning ? [] : [`${option}=${this.#tree.root}`];
  }
}

export function isMasked({ unitFileState }: UnitSeen): boolean {
  return unitFileState.startsWith("masked");
}

function reasonOf(result: ProgramResult): string {
  switch (result.kind) {
    case "missing":
      return "it is not installed";
    case "killed":
      return "it did not end in time";
    case "failed":
      return `it cannot be started (${result.code})`;
    case "ended": {
      const lines = result.stderr.split("\n").filter((line) => line.trim() !== "");
      return lines.slice(0, 3).join(" ") || `exit code ${result.exitCode}`;
    }
  }
}
