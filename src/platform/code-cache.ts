import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Script } from "node:vm";
import { crc32 } from "node:zlib";

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
  const scripts = new Map<string, { readonly script: Script; readonly source: string }>();
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
    const text = readFileSync(file, "utf8").replace(/^#!.*/, "");
    const source = `(function (exports, require, module, __filename, __dirname) {${text}\n})`;
    const kept = join(folder, `${basename(file)}.code`);
    const cachedData = readKept(kept, source);
    const script = new Script(source, { filename: file, ...(cachedData === undefined ? {} : { cachedData }) });
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
 * Before the code: checksums of what it was compiled from, of which V8 compares no more than the length, and of the code itself, which V8
 * takes on trust. So a file that is torn, or of another version of the program, is not used, and need not be written durably.
 */
const HEADER_BYTES = 8;

function readKept(path: string, source: string): Buffer | undefined {
  try {
    const bytes = readFileSync(path);
    const code = bytes.subarray(HEADER_BYTES);
    return header(source, code).equals(bytes.subarray(0, HEADER_BYTES)) ? code : undefined;
  } catch {
    return undefined;
  }
}

function writeKept(path: string, source: string, code: Buffer): void {
  try {
    writeFileSync(`${path}.new`, Buffer.concat([header(source, code), code]), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  } catch {
    // On a disk that is full or read-only the program starts without.
  }
}

function header(source: string, code: Buffer): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.writeUInt32LE(crc32(source), 0);
  bytes.writeUInt32LE(crc32(code), 4);
  return bytes;
}
