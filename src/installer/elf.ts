/** What decides whether a program runs on a machine: elf(5). */
export interface ElfHeader {
  /** As people say it: `x86-64`, `arm64`; `machine 243` for what robots are not made of. */
  readonly architecture: string;
  /** The loader, such as /lib64/ld-linux-x86-64.so.2: it tells glibc from musl. Null for a static program. */
  readonly loader: string | null;
  /** Names of the shared libraries that have to be there, such as `libatomic.so.1`. */
  readonly libraries: readonly string[];
}

/** Reads a part of the file; what is returned is shorter where the file ends. */
export type ReadPart = (position: number, length_bytes: number) => Promise<Uint8Array>;

const MAGIC = [0x7f, 0x45, 0x4c, 0x46];
const ARCHITECTURES: ReadonlyMap<number, string> = new Map([
  [3, "x86"],
  [40, "arm"],
  [62, "x86-64"],
  [183, "arm64"],
  [243, "riscv64"],
]);

const HEADER_BYTES = 64;
const CLASS_OFFSET = 4;
const CLASS_64 = 2;
const BYTE_ORDER_OFFSET = 5;
const LITTLE_ENDIAN = 1;

const ENTRY_BYTES = 56;
const ENTRY_LIMIT = 256;
const SEGMENT_LOADED = 1;
const SEGMENT_DYNAMIC = 2;
const SEGMENT_LOADER = 3;

const TAG_BYTES = 16;
const TAG_NEEDED = 1n;
const TAG_STRING_TABLE = 5n;
const TAG_STRING_TABLE_SIZE = 10n;

/** Far more than any program has; a hostile file reserves no more than this. */
const LOADER_LIMIT_BYTES = 4096;
const DYNAMIC_LIMIT_BYTES = 65_536;
const STRINGS_LIMIT_BYTES = 64 * 1024 * 1024;

/**
 * Reads what a program for Linux says of itself.
 *
 * @returns null when it is none of a kind that robots have: ELF, little-endian. Of a 32-bit program the architecture alone.
 */
export async function readElf(readPart: ReadPart): Promise<ElfHeader | null> {
  const bytes = await readPart(0, HEADER_BYTES);
  if (bytes.byteLength < HEADER_BYTES || !MAGIC.every((byte, index) => bytes[index] === byte)) return null;
  if (bytes[BYTE_ORDER_OFFSET] !== LITTLE_ENDIAN) return null;
  const header = viewOf(bytes);
  const machine = header.getUint16(18, true);
  const architecture = ARCHITECTURES.get(machine) ?? `machine ${machine}`;
  if (bytes[CLASS_OFFSET] !== CLASS_64) return { architecture, loader: null, libraries: [] };
  const segments = await readSegments(header, readPart);
  return {
    architecture,
    loader: await readLoader(segments, readPart),
    libraries: await readLibraries(segments, readPart),
  };
}

interface Segment {
  readonly type: number;
  readonly position: number;
  readonly address: number;
  readonly size_bytes: number;
}

async function readSegments(header: DataView, readPart: ReadPart): Promise<readonly Segment[]> {
  const position = Number(header.getBigUint64(32, true));
  const count = header.getUint16(56, true);
  if (header.getUint16(54, true) !== ENTRY_BYTES || count > ENTRY_LIMIT) return [];
  const table = viewOf(await readPart(position, count * ENTRY_BYTES));
  const starts = Array.from({ length: Math.floor(table.byteLength / ENTRY_BYTES) }, (_, index) => index * ENTRY_BYTES);
  return starts.map((start) => ({
    type: table.getUint32(start, true),
    position: Number(table.getBigUint64(start + 8, true)),
    address: Number(table.getBigUint64(start + 16, true)),
    size_bytes: Number(table.getBigUint64(start + 32, true)),
  }));
}

async function readLoader(segments: readonly Segment[], readPart: ReadPart): Promise<string | null> {
  const segment = segments.find(({ type }) => type === SEGMENT_LOADER);
  if (segment === undefined || segment.size_bytes > LOADER_LIMIT_BYTES) return null;
  return textAt(await readPart(segment.position, segment.size_bytes), 0);
}

async function readLibraries(segments: readonly Segment[], readPart: ReadPart): Promise<readonly string[]> {
  const dynamic = segments.find(({ type }) => type === SEGMENT_DYNAMIC);
  if (dynamic === undefined || dynamic.size_bytes > DYNAMIC_LIMIT_BYTES) return [];
  const view = viewOf(await readPart(dynamic.position, dynamic.size_bytes));
  const needed: number[] = [];
  let address = 0;
  let size_bytes = 0;
  for (let at = 0; at + TAG_BYTES <= view.byteLength; at += TAG_BYTES) {
    const tag = view.getBigUint64(at, true);
    const value = Number(view.getBigUint64(at + 8, true));
    if (tag === TAG_NEEDED) needed.push(value);
    else if (tag === TAG_STRING_TABLE) address = value;
    else if (tag === TAG_STRING_TABLE_SIZE) size_bytes = value;
  }
  const holder = segments.find(
    (segment) =>
      segment.type === SEGMENT_LOADED && segment.address <= address && address < segment.address + segment.size_bytes,
  );
  if (holder === undefined || size_bytes > STRINGS_LIMIT_BYTES) return [];
  const strings = await readPart(holder.position + address - holder.address, size_bytes);
  return needed.map((offset) => textAt(strings, offset));
}

/** Up to the zero at its end. */
function textAt(bytes: Uint8Array, start: number): string {
  const end = bytes.indexOf(0, start);
  return new TextDecoder().decode(bytes.subarray(start, end === -1 ? bytes.byteLength : end));
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
