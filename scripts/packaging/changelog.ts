import { readFile } from "node:fs/promises";
import { join } from "node:path";

import manifest from "../../package.json" with { type: "json" };

/** The packaged version and its date. */
export interface Release {
  /** As npm and Debian write it. */
  readonly version: string;
  /** The package's changelog, newest entry first. */
  readonly changelog: string;
  /** Time of that entry in seconds since 1970; everything in the package has it (SOURCE_DATE_EPOCH). */
  readonly epochS: number;
}

const CHANGELOG = join(import.meta.dirname, "../../systemd/debian/changelog");

/**
 * The release that systemd/debian/changelog describes, or `version` made of the same sources.
 *
 * @throws when the newest entry has another version than package.json, because its date would be wrong.
 */
export async function readRelease(version: string = manifest.version): Promise<Release> {
  if (!/^\d[\w.+~]*$/.test(version)) throw new Error(`'${version}' is not a version of a Debian package`);
  const text = await readFile(CHANGELOG, "utf8");
  const [entry = "", described, date = ""] = /^robot-policy-agent \((.+)\) .+?^ -- .+? {2}(.+?)\n/ms.exec(text) ?? [];
  const epochS = Date.parse(date) / 1000;
  if (!Number.isSafeInteger(epochS) || described !== manifest.version) {
    throw new Error(`${CHANGELOG}: the first entry must describe version ${manifest.version} and end with its date`);
  }
  const changelog = version === manifest.version ? text : `${entry.replace(described, version)}\n${text}`;
  return { version, changelog, epochS };
}
