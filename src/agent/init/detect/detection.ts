/** What detection finds, and where it looks. */
import { join } from "node:path";

import type { JointUnit } from "../../../manifest/catalog/ids.ts";
import { readBounded } from "../../../platform/files/durable-file.ts";
import type { Files } from "../../../platform/files/files.ts";
import type { Entry, Search } from "./search.ts";

/** A robot that this computer may drive. */
export interface Candidate {
  /** The same for all evidence of one robot. */
  readonly key: string;
  /** In words. */
  readonly robot: string;
  /** The type of the catalog that it is of, or nearest to; null for a robot that its manifest describes from the start. */
  readonly type: string | null;
  /** What differs from the type; null when the robot is of it. */
  readonly differs: string | null;
  /** What the evidence is. */
  readonly reason: string;
  /** What only a person can say. */
  readonly questions: readonly string[];
  /** In digest order. */
  readonly files: readonly ProposedFile[];
  readonly leftOut: readonly LeftOut[];
  /** From the calibration of a LeRobot arm, for the manifest's limits. */
  readonly ranges: readonly GroupRanges[];
  /** What the joints of a LeRobot arm are in, where a file says it. */
  readonly unit: JointUnit | null;
  readonly advice: string | null;
}

export interface ProposedFile {
  /** What the file decides; that of several may be the same. */
  readonly label: string;
  readonly path: string;
  readonly modifiedMs: number;
}

export interface LeftOut {
  readonly path: string;
  readonly reason: string;
}

export interface GroupRanges {
  /** The name of the group in the type. */
  readonly group: string;
  readonly joints: readonly JointRange[];
}

/** How far a joint goes from the middle of its travel. */
export interface JointRange {
  readonly joint: string;
  readonly deg: readonly [number, number];
  readonly calibrated_range: readonly [number, number];
}

type Known = Pick<Candidate, "key" | "robot" | "type" | "reason" | "files">;

export function candidate(known: Known & Partial<Candidate>): Candidate {
  return { differs: null, questions: [], leftOut: [], ranges: [], unit: null, advice: null, ...known };
}

/** @param files each `pattern: label`, below the folder, or of the whole system if it begins with a slash. */
export async function filesIn(search: Search, { root }: Surroundings, folder: string, files: readonly string[]) {
  const found: ProposedFile[] = [];
  for (const file of files) {
    const [pattern = "", label = ""] = file.split(": ");
    const isOfSystem = pattern.startsWith("/");
    const entries = await search.find(isOfSystem ? root : folder, isOfSystem ? pattern.slice(1) : pattern);
    const fresh = entries.filter(({ kind, path }) => kind === "file" && !found.some((each) => each.path === path));
    found.push(...fresh.map((entry) => proposed(entry, label)));
  }
  return found;
}

export function proposed({ path, modifiedMs }: Entry, label: string): ProposedFile {
  return { label, path, modifiedMs };
}

export function leftOut(files: readonly { readonly path: string }[], reason: string): LeftOut[] {
  return files.map(({ path }) => ({ path, reason }));
}

export function newestFirst(one: { readonly modifiedMs: number }, other: { readonly modifiedMs: number }): number {
  return other.modifiedMs - one.modifiedMs;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Surroundings {
  readonly homes: readonly string[];
  /** Folders that may be checkouts or workspaces. */
  readonly projects: readonly Entry[];
  /** "/", or another folder with etc and opt. */
  readonly root: string;
  readonly environment: Environment;
}

/** Folders in which people collect checkouts. */
const COLLECTIONS = /^(?:src|repos?|projects?|git|github|code|dev|workspaces?|documents|robots?)$/i;

export async function findProjects(search: Search, homes: readonly string[], root: string): Promise<readonly Entry[]> {
  const projects = await search.find(root, "opt/*");
  const found = [...projects];
  for (const home of homes) {
    const inHome = (await search.find(home, "*")).filter(({ kind }) => kind === "directory");
    found.push(...(await search.find(home, "")), ...inHome);
    for (const { name, path } of inHome) if (COLLECTIONS.test(name)) found.push(...(await search.find(path, "*")));
  }
  return found.filter(({ kind }) => kind === "directory");
}

const PASSWD_LIMIT_BYTES = 1024 * 1024;

/** The home of the person who runs this program, also by sudo(8), and nobody else's. */
export async function homesOf(files: Files, environment: Environment, userId: number | undefined) {
  const person = userId === 0 ? environment["SUDO_USER"] : undefined;
  const home = person === undefined ? environment["HOME"] : await homeOfUser(files, person);
  return home?.startsWith("/") === true ? [join(home)] : [];
}

/** passwd(5). */
async function homeOfUser(files: Files, user: string): Promise<string | undefined> {
  const bytes = await readBounded(files, "/etc/passwd", PASSWD_LIMIT_BYTES).catch(() => "");
  const rows = Buffer.from(bytes).toString("utf8").split("\n");
  return rows.map((row) => row.split(":")).find(([name]) => name === user)?.[5];
}
