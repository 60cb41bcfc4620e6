/** ELF-64, little endian, as both architectures are (elf(5)). */
const MAGIC = [0x7f, 0x45, 0x4c, 0x46, 2, 1];
const HEADER = { sectionOffset: 0x28, sectionSize: 0x3a, sectionCount: 0x3c, namesIndex: 0x3e } as const;
const SECTION = { type: 4, flags: 8, offset: 24, size: 32, link: 40, info: 44, bytes: 64 } as const;
const IN_MEMORY = 0x2n;
const NO_BYTES = 8;
const STRING_TABLE = 3;

interface Section {
  readonly index: number;
  readonly header: Buffer;
}

/**
 * A program without what only debuggers read, 22 % of Node: all sections that are loaded stay where they are, and their table.
 *
 * By hand and not by strip(1): each version of binutils writes other bytes, and few machines have the one for the other architecture.
 *
 * @throws for what is no ELF program, and for one that does not end with what is to go.
 */
export function stripProgram(program: Uint8Array): Uint8Array {
  const file = Buffer.from(program.buffer, program.byteOffset, program.byteLength);
  if (MAGIC.some((byte, index) => file[index] !== byte)) throw new Error("not a 64-bit little-endian ELF program");
  const kept = readSections(file).filter(({ header }) => (header.readBigUInt64LE(SECTION.flags) & IN_MEMORY) !== 0n);
  const end = Math.max(...kept.map(endOf));
  const names = nameTable(file, kept);

  // The first section is always the empty one, the last now that of names.
  const moved = new Map([[0, 0], ...kept.map(({ index }, place): [number, number] => [index, place + 1])]);
  const headers = [Buffer.alloc(SECTION.bytes), ...kept.map(({ header }) => relinked(header, moved))];
  headers.forEach((header, place) => header.writeUInt32LE(names.offsets[place] ?? 0, 0));
  headers.push(describeNames(names, end));

  const tableOffset = align(end + names.bytes.byteLength);
  const stripped = Buffer.alloc(tableOffset + headers.length * SECTION.bytes);
  file.copy(stripped, 0, 0, end);
  names.bytes.copy(stripped, end);
  Buffer.concat(headers).copy(stripped, tableOffset);
  stripped.writeBigUInt64LE(BigInt(tableOffset), HEADER.sectionOffset);
  stripped.writeUInt16LE(headers.length, HEADER.sectionCount);
  stripped.writeUInt16LE(headers.length - 1, HEADER.namesIndex);
  return stripped;
}

function readSections(file: Buffer): readonly Section[] {
  const offset = Number(file.readBigUInt64LE(HEADER.sectionOffset));
  const count = file.readUInt16LE(HEADER.sectionCount);
  if (file.readUInt16LE(HEADER.sectionSize) !== SECTION.bytes) throw new Error("an ELF program of another form");
  return Array.from({ length: count }, (_, index) => {
    const start = offset + index * SECTION.bytes;
    return { index, header: Buffer.from(file.subarray(start, start + SECTION.bytes)) };
  });
}

function endOf({ header }: Section): number {
  const size = header.readUInt32LE(SECTION.type) === NO_BYTES ? 0n : header.readBigUInt64LE(SECTION.size);
  return Number(header.readBigUInt64LE(SECTION.offset) + size);
}

interface NameTable {
  readonly bytes: Buffer;
  /** Of the empty first section, then of each kept one, then of the table itself. */
  readonly offsets: readonly number[];
}

function nameTable(file: Buffer, kept: readonly Section[]): NameTable {
  const sections = readSections(file);
  const table = sections[file.readUInt16LE(HEADER.namesIndex)];
  if (table === undefined) throw new Error("an ELF program without names of sections");
  const start = Number(table.header.readBigUInt64LE(SECTION.offset));
  const names = ["", ...kept.map(({ header }) => textAt(file, start + header.readUInt32LE(0))), ".shstrtab"];
  const offsets: number[] = [];
  let length = 0;
  for (const name of names) {
    offsets.push(length);
    length += Buffer.byteLength(name) + 1;
  }
  return { bytes: Buffer.from(names.map((name) => `${name}\0`).join("")), offsets };
}

function describeNames(names: NameTable, offset: number): Buffer {
  const header = Buffer.alloc(SECTION.bytes);
  header.writeUInt32LE(names.offsets.at(-1) ?? 0, 0);
  header.writeUInt32LE(STRING_TABLE, SECTION.type);
  header.writeBigUInt64LE(BigInt(offset), SECTION.offset);
  header.writeBigUInt64LE(BigInt(names.bytes.byteLength), SECTION.size);
  header.writeBigUInt64LE(1n, SECTION.bytes - 16);
  return header;
}

/** Sections name one another by their place in the table. */
function relinked(header: Buffer, moved: ReadonlyMap<number, number>): Buffer {
  header.writeUInt32LE(moved.get(header.readUInt32LE(SECTION.link)) ?? 0, SECTION.link);
  const INFO_IS_SECTION = 0x40n;
  if ((header.readBigUInt64LE(SECTION.flags) & INFO_IS_SECTION) !== 0n) {
    header.writeUInt32LE(moved.get(header.readUInt32LE(SECTION.info)) ?? 0, SECTION.info);
  }
  return header;
}

function textAt(file: Buffer, start: number): string {
  return file.toString("latin1", start, file.indexOf(0, start));
}

function align(offset: number): number {
  return Math.ceil(offset / 8) * 8;
}
