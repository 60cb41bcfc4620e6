/** A machine that is killed, or fails, at a chosen change. */
import * as fs from "node:fs/promises";

import type { TreeFs } from "../../../src/installer/tree.ts";
import type { RunProgram } from "../../../src/platform/programs.ts";

export interface Break {
  /** `killed`: the process ends in the middle of the change. `failing`: the change fails because the disk is full. */
  readonly kind: "killed" | "failing";
  /** The number of the change, from 0. */
  readonly at: number;
}

/** Thrown in place of the end of the process, from then on by every access. */
export class Killed extends Error {
  override readonly name = "Killed";
}

export interface BreakingMachine {
  readonly fs: TreeFs;
  readonly runProgram: RunProgram;
  /** Changes so far. */
  count(): number;
}

const CHANGING_PROGRAM = /^(?:rm|systemd-sysusers|userdel|groupdel|systemctl .*\b(?:enable|disable|daemon-reload)) /;

export function breakMachine(broken: Break | null, runProgram: RunProgram): BreakingMachine {
  let count = 0;
  let isKilled = false;
  /** @returns whether this change fails. */
  function next(): boolean {
    if (isKilled) throw new Killed();
    count += 1;
    if (count - 1 !== broken?.at) return false;
    isKilled = broken.kind === "killed";
    return true;
  }
  function change<Args extends readonly unknown[], Result>(work: (...args: Args) => Promise<Result>) {
    return async (...args: Args): Promise<Result> => {
      if (next()) throw isKilled ? new Killed() : diskFull(args[0]);
      return work(...args);
    };
  }
  return {
    count: () => count,
    fs: {
      ...fs,
      chmod: change(fs.chmod),
      chown: change(fs.chown),
      mkdir: change((path: string) => fs.mkdir(path)),
      rename: change(fs.rename),
      rmdir: change(fs.rmdir),
      rm: change(fs.rm),
      symlink: change(fs.symlink),
      async open(path, flags, mode) {
        if (flags !== "wx") return fs.open(path, flags, mode);
        if (!next()) return fs.open(path, flags, mode);
        if (!isKilled) throw diskFull(path);
        await fs.writeFile(String(path), "half");
        throw new Killed();
      },
    },
    async runProgram(words, options) {
      if (isKilled) throw new Killed();
      if (!CHANGING_PROGRAM.test(`${words.join(" ")} `) || !next()) return runProgram(words, options);
      if (isKilled) throw new Killed();
      return { kind: "ended", exitCode: 1, stdout: "", stderr: "ENOSPC: No space left on device" };
    },
  };
}

function diskFull(path: unknown): Error {
  return Object.assign(new Error(`ENOSPC: no space left on device, '${String(path)}'`), { code: "ENOSPC" });
}
