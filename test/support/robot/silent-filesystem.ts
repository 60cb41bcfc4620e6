/**
 * A FUSE filesystem that reports no changes: it shows one folder read-only and never tells the kernel when a file in it changes.
 * Start it in a private mount namespace: `unshare --mount node silent-filesystem.ts FOLDER MOUNT_POINT`. It prints a line once it is
 * mounted
 * and serves until it is killed. A lookup of the file `.hang` gets ENOENT; then the program creates `.hung` in the folder and stops
 * answering
 * until that file is removed. It implements the kernel protocol (linux/fuse.h, fuse(4)) only as far as stat and read need it.
 */
import { execFileSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readSync,
  type Stats,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

const OPERATION = {
  lookup: 1,
  forget: 2,
  getattr: 3,
  open: 14,
  read: 15,
  statfs: 17,
  release: 18,
  flush: 25,
  init: 26,
  opendir: 27,
  readdir: 28,
  releasedir: 29,
  interrupt: 36,
  batchForget: 42,
} as const;
const HANG = ".hang";
const HUNG = ".hung";
const LOOK_MS = 20;
const ENOENT = 2;
const ENOSYS = 38;
const HEADER_BYTES = 40;
/** Timeout 0 for all cached attributes: the kernel's cache would become stale, because nothing invalidates it. */
const DIRECT_IO = 1;

const [folder = "", mountPoint = ""] = process.argv.slice(2);
/** Node id → path below the folder; 1 is the root. */
const paths = ["", "."];

const device = openSync("/dev/fuse", "r+");
// Node has no mount(2). mount(8) inherits the device.
const options = "fd=3,rootmode=40000,user_id=0,group_id=0,allow_other,ro";
const [mount, ...args] = ["mount", "--internal-only", "-t", "fuse", "-o", options, "silent", mountPoint] as const;
execFileSync(mount, args, { stdio: ["ignore", "inherit", "inherit", device] });
process.stdout.write("mounted\n");

let isToHang = false;
const request = Buffer.alloc(256 * 1024);
for (;;) {
  const length = readSync(device, request, 0, request.byteLength, null);
  if (length === 0) break;
  serve(request.subarray(0, length));
  if (isToHang) hang();
  isToHang = false;
}

function hang(): void {
  const path = join(folder, HUNG);
  writeFileSync(path, "");
  const never = new Int32Array(new SharedArrayBuffer(4));
  while (existsSync(path)) Atomics.wait(never, 0, 0, LOOK_MS);
}

function serve(message: Buffer): void {
  const operation = message.readUInt32LE(4);
  const unique = message.readBigUInt64LE(8);
  const nodeId = Number(message.readBigUInt64LE(16));
  if (operation === OPERATION.forget || operation === OPERATION.batchForget || operation === OPERATION.interrupt)
    return;
  try {
    reply(unique, 0, answer(operation, nodeId, message.subarray(HEADER_BYTES)));
  } catch (error) {
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
    reply(unique, missing ? -ENOENT : -ENOSYS, Buffer.alloc(0));
  }
}

function reply(unique: bigint, error: number, body: Buffer): void {
  const header = Buffer.alloc(16);
  header.writeUInt32LE(16 + body.byteLength, 0);
  header.writeInt32LE(error, 4);
  header.writeBigUInt64LE(unique, 8);
  writeSync(device, Buffer.concat([header, body]));
}

function answer(operation: number, nodeId: number, argument: Buffer): Buffer {
  const path = join(folder, paths[nodeId] ?? "");
  switch (operation) {
    case OPERATION.init:
      return initialize();
    case OPERATION.lookup:
      return lookUp(paths[nodeId] ?? "", argument.subarray(0, argument.indexOf(0)).toString("utf8"));
    case OPERATION.getattr:
      return Buffer.concat([Buffer.alloc(16), attributes(nodeId, statSync(path))]);
    case OPERATION.opendir:
      return opened(0);
    case OPERATION.readdir:
      return argument.readBigUInt64LE(8) === 0n ? entries(path) : Buffer.alloc(0);
    case OPERATION.open:
      return opened(openSync(path, "r"));
    case OPERATION.read: {
      const bytes = Buffer.alloc(argument.readUInt32LE(16));
      const file = Number(argument.readBigUInt64LE(0));
      return bytes.subarray(0, readSync(file, bytes, 0, bytes.byteLength, Number(argument.readBigUInt64LE(8))));
    }
    case OPERATION.release:
      closeSync(Number(argument.readBigUInt64LE(0)));
      return Buffer.alloc(0);
    case OPERATION.flush:
    case OPERATION.releasedir:
      return Buffer.alloc(0);
    case OPERATION.statfs:
      return Buffer.alloc(80);
    default:
      throw new Error("not needed");
  }
}

/** fuse_init_out of protocol 7.31. */
function initialize(): Buffer {
  const body = Buffer.alloc(64);
  body.writeUInt32LE(7, 0);
  body.writeUInt32LE(31, 4);
  body.writeUInt32LE(128 * 1024, 8);
  body.writeUInt32LE(128 * 1024, 20);
  return body;
}

/** fuse_entry_out, without caching. */
function lookUp(parent: string, name: string): Buffer {
  const path = join(parent, name);
  isToHang = name === HANG;
  const stats = statSync(join(folder, path));
  const known = paths.indexOf(path, 1);
  const nodeId = known > 0 ? known : paths.push(path) - 1;
  const entry = Buffer.alloc(40);
  entry.writeBigUInt64LE(BigInt(nodeId), 0);
  return Buffer.concat([entry, attributes(nodeId, stats)]);
}

/** fuse_attr. */
function attributes(nodeId: number, stats: Stats): Buffer {
  const body = Buffer.alloc(88);
  body.writeBigUInt64LE(BigInt(nodeId), 0);
  body.writeBigUInt64LE(BigInt(stats.size), 8);
  [stats.atimeMs, stats.mtimeMs, stats.ctimeMs].forEach((timeMs, index) => {
    body.writeBigUInt64LE(BigInt(Math.floor(timeMs / 1000)), 24 + 8 * index);
    body.writeUInt32LE(Math.floor((timeMs % 1000) * 1e6), 48 + 4 * index);
  });
  body.writeUInt32LE(stats.mode, 60);
  body.writeUInt32LE(1, 64);
  return body;
}

function opened(file: number): Buffer {
  const body = Buffer.alloc(16);
  body.writeBigUInt64LE(BigInt(file), 0);
  body.writeUInt32LE(DIRECT_IO, 8);
  return body;
}

/** fuse_dirent for each name, padded to eight bytes. */
function entries(path: string): Buffer {
  return Buffer.concat(
    readdirSync(path).map((name, index) => {
      const text = Buffer.from(name);
      const entry = Buffer.alloc(Math.ceil((24 + text.byteLength) / 8) * 8);
      entry.writeBigUInt64LE(BigInt(index + 2), 0);
      entry.writeBigUInt64LE(BigInt(index + 1), 8);
      entry.writeUInt32LE(text.byteLength, 16);
      text.copy(entry, 24);
      return entry;
    }),
  );
}
