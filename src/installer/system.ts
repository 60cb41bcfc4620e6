import { dirname, join } from "node:path";

import type { FileOwner } from "../platform/files/files.ts";
import type { ProgramResult, RunProgram } from "../platform/programs.ts";
import { ProgramFailed } from "./errors.ts";
import { SERVICE_UNIT, SERVICE_USER } from "./layout.ts";
import type { Tree } from "./tree.ts";

/** What systemd says of a unit. */
export interface UnitSeen {
  /** `not-found`, `loaded`, `masked`. */
  readonly loadState: string;
  /** `inactive`, `active`, `activating`, `failed`. */
  readonly activeState: string;
  /** `enabled`, `disabled`, `masked`. */
  readonly unitFileState: string;
}

const SYSTEMCTL_LIMIT_MS = 30_000;
/** TimeoutStartSec= and TimeoutStopSec= of the unit, with a margin. */
const JOB_LIMIT_MS = 120_000;
const USERS_LIMIT_MS = 30_000;
const REMOVAL_LIMIT_MS = 120_000;
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
    if (!this.isRunning) return this.#readUnitOfImage(unit);
    const properties = await this.#show(unit, "LoadState,ActiveState,UnitFileState");
    return {
      loadState: properties.get("LoadState") ?? "",
      activeState: properties.get("ActiveState") ?? "",
      unitFileState: properties.get("UnitFileState") ?? "",
    };
  }

  reloadUnits(): Promise<void> {
    return this.#must(this.#systemctl("daemon-reload"), JOB_LIMIT_MS);
  }

  /** @param verb of systemctl(1). `reset-failed`: a failed unit stays listed after its file is gone. */
  changeUnit(verb: "enable" | "disable" | "start" | "restart" | "stop" | "reset-failed", unit: string): Promise<void> {
    return this.#must(this.#systemctl(verb, unit), JOB_LIMIT_MS);
  }

  /** @param sysusers the lines of a sysusers.d(5) file. Given as arguments, because /etc, where it would lie, is the administrator's. */
  addUser(sysusers: string): Promise<void> {
    const lines = sysusers.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    return this.#must(["systemd-sysusers", ...this.#rootOption("--root"), "--inline", ...lines], USERS_LIMIT_MS);
  }

  async removeUser(): Promise<void> {
    // userdel has removed the group already where login.defs(5) sets USERGROUPS_ENAB.
    for (const program of ["userdel", "groupdel"]) {
      const words = [program, ...this.#rootOption("--prefix"), SERVICE_USER];
      await this.#must(words, USERS_LIMIT_MS, ABSENT_EXIT_CODE);
    }
  }

  /** The service user; null where there is no such user. */
  findUser(): Promise<FileOwner | null> {
    return this.#findUser(SERVICE_USER);
  }

  async hasGroup(): Promise<boolean> {
    return (await this.#readRow("group", SERVICE_USER)) !== null;
  }

  /** The user that the service runs as: another than the service user with a drop-in, such as one of `grant --method owner`. */
  async findOwner(): Promise<FileOwner | null> {
    const user = this.isRunning ? (await this.#show(SERVICE_UNIT, "User")).get("User") : undefined;
    const other = user === undefined || user === "" ? null : await this.#findUser(user);
    return other ?? this.findUser();
  }

  /**
   * Removes a folder with everything in it, or the link that is in its place. By rm(1), which never follows a link, not even one that the
   * folder's owner creates meanwhile; Node's rm may.
   *
   * @returns false where the folder is empty then, but is a mount and stays.
   */
  async removeTree(path: string): Promise<boolean> {
    const words = ["rm", "-rf", "--", join(this.#tree.root, path)];
    const result = await this.#runProgram(words, { limitMs: REMOVAL_LIMIT_MS });
    if (result.kind === "ended" && result.exitCode === 0) {
      // A power cut must not bring back a key.
      if (await this.#tree.isFolder(dirname(path))) await this.#tree.syncFolder(dirname(path));
      return true;
    }
    const isMount = (await this.#tree.isFolder(path)) && (await this.#tree.list(path)).length === 0;
    if (!isMount) throw new ProgramFailed(words, reasonOf(result));
    return false;
  }

  /** Runs another program. */
  run(words: readonly string[]): Promise<void> {
    return this.#must(words, JOB_LIMIT_MS);
  }

  /** In an image systemctl only answers `is-enabled`; a unit that is not installed yet has no state. */
  async #readUnitOfImage(unit: string): Promise<UnitSeen> {
    const result = await this.#runProgram(this.#systemctl("is-enabled", unit), { limitMs: SYSTEMCTL_LIMIT_MS });
    const unitFileState = result.kind === "ended" ? result.stdout.trim() : "";
    const loadState = unitFileState.startsWith("masked") ? "masked" : "loaded";
    return { loadState, activeState: "inactive", unitFileState };
  }

  async #show(unit: string, properties: string): Promise<ReadonlyMap<string, string>> {
    const words = this.#systemctl("show", unit, `--property=${properties}`);
    const result = await this.#runProgram(words, { limitMs: SYSTEMCTL_LIMIT_MS });
    if (result.kind !== "ended" || result.exitCode !== 0) throw new ProgramFailed(words, reasonOf(result));
    const lines = [...result.stdout.matchAll(/^(\w+)=(.*)$/gm)];
    return new Map(lines.map(([, name = "", value = ""]) => [name, value]));
  }

  async #findUser(name: string): Promise<FileOwner | null> {
    const row = await this.#readRow("passwd", name);
    if (row === null) return null;
    const [, , userId = "", groupId = ""] = row;
    return { userId: Number(userId), groupId: Number(groupId) };
  }

  /** The fields of passwd(5) or group(5). getent(1) also knows the users of a directory service. */
  async #readRow(database: "passwd" | "group", name: string): Promise<readonly string[] | null> {
    let text = "";
    if (this.isRunning) {
      const result = await this.#runProgram(["getent", database, name], { limitMs: USERS_LIMIT_MS });
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

  async #must(words: readonly string[], limitMs: number, allowedExitCode = 0): Promise<void> {
    const result = await this.#runProgram(words, { limitMs });
    if (result.kind === "ended" && [0, allowedExitCode].includes(result.exitCode)) return;
    throw new ProgramFailed(words, reasonOf(result));
  }
}

export function isMasked({ loadState, unitFileState }: UnitSeen): boolean {
  return loadState === "masked" || unitFileState.startsWith("masked");
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
