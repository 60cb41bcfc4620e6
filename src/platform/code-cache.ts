import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Script } from "node:vm";

/**
 * Compiled code of a program's files, kept in a folder between its starts.
 *
 * Node's own compile cache holds a file as it was compiled before it ran, without most of its functions: those were compiled again at
 * each start, 7 of the 30 ms that the agent takes to READY=1 once Node runs. This keeps what was compiled while the program ran
 * (`script.createCachedData()` in the documentation of node:vm).
 */
export interface CodeCache {
  /** Runs a CommonJS file, and those beside it that it requires; all else that it requires is part of Node. Returns its exports. */
  load(file: string): unknown;
  /** Writes what was compiled so far and was not kept yet. What is loaded from now on is not kept. */
  keep(): void;
}

type Wrapper = (
  exports: unknown,
  require: (id: string) => unknown,
  module: { exports: unknown },
  file: string,
  folder: string,
) => void;

export function openCodeCache(folder: string): CodeCache {
  const modules = new Map<string, { exports: unknown }>();
  /** To be kept, by the file to write. */
  const scripts = new Map<string, { readonly script: Script; readonly source: Buffer }>();
  let isKeeping = true;

  function load(file: string): unknown {
    const known = modules.get(file);
    if (known !== undefined) return known.exports;
    const module = { exports: {} };
    modules.set(file, module);
    const requireHere = (id: string) => (id.startsWith("./") ? load(join(dirname(file), id)) : requireBuiltin(id));
    compile(file)(module.exports, requireHere, module, file, dirname(file));
    return module.exports;
  }

  function compile(file: string): Wrapper {
    const source = readFileSync(file);
    const text = source.toString("utf8").replace(/^#!.*/, "");
    const kept = join(folder, `${basename(file)}.code`);
    const cachedData = readKept(kept, source);
    const script = new Script(`(function (exports, require, module, __filename, __dirname) {${text}\n})`, {
      filename: file,
      ...(cachedData === undefined ? {} : { cachedData }),
    });
    // True for the code of another version of V8; undefined where there was none.
    const isUsed = script.cachedDataRejected === false;
    if (!isUsed && isKeeping) scripts.set(kept, { script, source });
    return script.runInThisContext();
  }

  return {
    load,
    keep() {
      isKeeping = false;
      for (const [kept, { script, source }] of scripts) writeKept(kept, source, script.createCachedData());
      scripts.clear();
    },
  };
}

/** True for a folder that nobody but this process's user may write: whoever can write the cache decides what runs. */
export function isOwnFolder(folder: string): boolean {
  try {
    const { uid, mode } = statSync(folder);
    return uid === process.getuid?.() && (mode & WRITABLE_BY_OTHERS) === 0;
  } catch {
    return false;
  }
}

const WRITABLE_BY_OTHERS = 0o022;

function requireBuiltin(id: string): unknown {
  const builtin = process.getBuiltinModule(id);
  if (builtin === undefined) throw Object.assign(new Error(`Cannot find module '${id}'`), { code: "MODULE_NOT_FOUND" });
  return builtin;
}

/**
 * The code twice, and what it was compiled from. V8 compares no more than the length of the source, and takes code on trust: damaged code
 * could end every start. To compare all of it takes less than the checksums of Node, whose loading is 2 ms of a boot.
 */
function readKept(path: string, source: Buffer): Buffer | undefined {
  try {
    const bytes = readFileSync(path);
    const end = bytes.length - source.length;
    const code = bytes.subarray(0, end / 2);
    const isWhole = code.equals(bytes.subarray(end / 2, end)) && source.equals(bytes.subarray(end));
    return isWhole ? code : undefined;
  } catch {
    return undefined;
  }
}

/** Not durably: what a power cut leaves is not taken for code. */
function writeKept(path: string, source: Buffer, code: Buffer): void {
  try {
    writeFileSync(`${path}.new`, Buffer.concat([code, code, source]), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  } catch {
    // On a disk that is full or read-only the program starts without.
  }
}
