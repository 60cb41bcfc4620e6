import { basename } from "node:path";

import { DATABASE_LIMIT_BYTES, lookUpAccount, parseUsers } from "../../access/account.ts";
import { parseUnit } from "../../access/unit.ts";
import { errorCode, type FileOwner } from "../../platform/files/files.ts";
import type { ProgramResult } from "../../platform/programs.ts";
import { type Disk, readText } from "../disk/disk.ts";
import { type GrantMachine, grantRecordPath, lockGrantRecord, readGrantRecord } from "../grant/record.ts";
import { revokeGrant } from "../grant/revoke.ts";
import { NAME, NOTES_FOLDER, PROGRAM, SERVICE_UNIT, SERVICE_USER, SYSUSERS_FILE } from "../layout.ts";

/** The service manager and the user database. Methods throw `ProgramFailed`. */
export type System = ReturnType<typeof openSystem>;

export interface UnitSeen {
  /** `not-found`, `loaded`, `masked`. */
  readonly loadState: string;
  /** `inactive`, `active`, `activating`, `failed`. */
  readonly activeState: string;
  /** `enabled`, `disabled`, `masked`. */
  readonly unitFileState: string;
}

/** A system program such as systemctl(1) failed. */
export class ProgramFailed extends Error {
  override readonly name = "ProgramFailed";

  constructor(words: readonly string[], reason: string) {
    super(`${words.join(" ")}: ${reason}`);
  }
}

const SYSTEMCTL_LIMIT_MS = 30_000;
/** TimeoutStartSec= and TimeoutStopSec= of the unit, with a margin. */
const JOB_LIMIT_MS = 120_000;
const USERS_LIMIT_MS = 30_000;
/** `check` reads every file, and waits while one is being written. */
const CHECK_LIMIT_MS = 120_000;
/** userdel(8) and groupdel(8): there is no such user or group. */
const ABSENT_EXIT_CODE = 6;

/** @param image its folder, for an image; null for this machine. */
export function openSystem({ files, runProgram }: GrantMachine, disk: Disk, image: string | null) {
  async function must(words: readonly string[], limitMs: number): Promise<string> {
    const result = await runProgram(words, { limitMs });
    if (result.kind === "ended" && result.exitCode === 0) return result.stdout;
    throw new ProgramFailed(words, reasonOf(result));
  }
  const rootWords = image === null ? [] : [`--root=${image}`];
  const prefixWords = image === null ? [] : [`--prefix=${image}`];
  const systemctl = (words: readonly string[], limitMs: number) =>
    must(["systemctl", "--no-ask-password", ...rootWords, ...words], limitMs);

  /** In an image systemctl only answers `is-enabled`; a unit that is not installed yet has no state. */
  async function readUnitOfImage(unit: string): Promise<UnitSeen> {
    const result = await runProgram(["systemctl", ...rootWords, "is-enabled", unit], { limitMs: SYSTEMCTL_LIMIT_MS });
    const unitFileState = result.kind === "ended" ? result.stdout.trim() : "";
    const loadState = unitFileState.startsWith("masked") ? "masked" : "loaded";
    return { loadState, activeState: "inactive", unitFileState };
  }

  async function removeAccountWith(words: readonly string[]): Promise<void> {
    const result = await runProgram(words, { limitMs: USERS_LIMIT_MS });
    if (result.kind === "ended" && [0, ABSENT_EXIT_CODE].includes(result.exitCode)) return;
    throw new ProgramFailed(words, reasonOf(result));
  }

  /** The service user; null where there is no such user. */
  async function findUser(): Promise<FileOwner | null> {
    const passwd = await readText(disk, "/etc/passwd", DATABASE_LIMIT_BYTES);
    const users = passwd === null || passwd === "too-large" ? [] : parseUsers(passwd);
    const user = users.find(({ name }) => name === SERVICE_USER) ?? null;
    return user === null && image === null ? lookUpAccount(runProgram, SERVICE_USER) : user;
  }

  return {
    /** False for an image, where units can be enabled but not started. */
    isRunning: image === null,
    async readUnit(unit: string): Promise<UnitSeen> {
      if (image !== null) return readUnitOfImage(unit);
      const shown = await systemctl(
        ["show", unit, "--property=LoadState,ActiveState,UnitFileState"],
        SYSTEMCTL_LIMIT_MS,
      );
      const { loadState, activeState, unitFileState } = parseUnit(shown);
      return { loadState, activeState, unitFileState };
    },
    reloadUnits: async () => void (await systemctl(["daemon-reload"], JOB_LIMIT_MS)),
    enable: async (unit: string) => void (await systemctl(["enable", unit], SYSTEMCTL_LIMIT_MS)),
    disable: async (unit: string) => void (await systemctl(["disable", unit], SYSTEMCTL_LIMIT_MS)),
    start: async (unit: string) => void (await systemctl(["start", unit], JOB_LIMIT_MS)),
    restart: async (unit: string) => void (await systemctl(["restart", unit], JOB_LIMIT_MS)),
    stop: async (unit: string) => void (await systemctl(["stop", unit], JOB_LIMIT_MS)),
    /** A failed unit stays listed after its file is gone. */
    resetFailed: async (unit: string) => void (await systemctl(["reset-failed", unit], SYSTEMCTL_LIMIT_MS)),
    /** Whether the installed program's `check` accepts configuration, manifest and files. */
    async isConfigurationValid(): Promise<boolean> {
      const result = await runProgram([PROGRAM, "check", "--json"], { limitMs: CHECK_LIMIT_MS });
      return result.kind === "ended" && result.exitCode === 0;
    },
    /** Creates the service user that the installed sysusers.d(5) file describes. */
    async addUser() {
      // By name: systemd-sysusers looks names up below --root, but would read a path on this machine.
      const words = ["systemd-sysusers", ...rootWords, basename(SYSUSERS_FILE)];
      const result = await runProgram(words, { limitMs: USERS_LIMIT_MS });
      if (result.kind === "ended" && result.exitCode === 0) return;
      // Small systems have no systemd-sysusers.
      if (result.kind !== "missing") throw new ProgramFailed(words, reasonOf(result));
      const account = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"];
      const shell = ["--shell", "/usr/sbin/nologin"];
      await must(["useradd", ...prefixWords, ...account, ...shell, SERVICE_USER], USERS_LIMIT_MS);
    },
    async removeUser() {
      await removeAccountWith(["userdel", ...prefixWords, SERVICE_USER]);
      // userdel has removed the group already where login.defs(5) sets USERGROUPS_ENAB.
      await removeAccountWith(["groupdel", ...prefixWords, SERVICE_USER]);
    },
    findUser,
    /** The user that the service runs as: another than the service user with a drop-in, such as one of `grant --method owner`. */
    async findOwner(): Promise<FileOwner | null> {
      const words = ["show", SERVICE_UNIT, "--property=User"];
      const { user } = parseUnit(image === null ? await systemctl(words, SYSTEMCTL_LIMIT_MS) : "");
      const other = user === "" || user === SERVICE_USER ? null : await lookUpAccount(runProgram, user);
      return other ?? findUser();
    },
    /** Whether `grant` gave the service user access to files. */
    async hasGrants(): Promise<boolean> {
      if (image !== null) return false;
      const record = await readGrantRecord(files, NOTES_FOLDER);
      return record === null || record.entries.length > 0 || record.drop_in !== null || record.given !== null;
    },
    async revokeGrants() {
      const words = [NAME, "grant", "--revoke"];
      await using lock = await lockGrantRecord(files, NOTES_FOLDER);
      if (lock.problem !== null) throw new ProgramFailed(words, `${lock.problem.what}: ${lock.problem.fix}`);
      const record = await readGrantRecord(files, NOTES_FOLDER);
      if (record === null) {
        const path = grantRecordPath(NOTES_FOLDER);
        throw new ProgramFailed(words, `its record ${path} is damaged, or was written by a newer version`);
      }
      const { problems } = await revokeGrant({ files, runProgram }, record, NOTES_FOLDER);
      const [problem] = problems;
      if (problem !== undefined) throw new ProgramFailed(words, `${problem.what}: ${problem.fix}`);
    },
  };
}

/** The message of a failed program or system call. Any other error is a bug, and is thrown again. */
export function reasonOfError(error: unknown): string {
  if (error instanceof ProgramFailed) return error.message;
  const code = errorCode(error);
  if (code === undefined || !(error instanceof Error)) throw error;
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return `${error.message} (the disk is full)`;
    case "EROFS":
      return `${error.message} (the disk is read-only)`;
  }
  return error.message;
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
