import { dirname, resolve } from "node:path";

import { CONFIGURATION_DIGEST_PATTERN } from "../../api/robots.ts";
import type { Reader } from "../../manifest/fields.ts";
import { fieldsOf } from "../../manifest/fields.ts";
import { string } from "../../manifest/readers.ts";
import { shown } from "../../manifest/shown.ts";
import { labelMapping, listOf, words } from "../files/written-readers.ts";

/** Same limit as in the agent's manifest. */
export const FILES_COUNT = { minimum: 0, maximum: 64 } as const;

/** A registration file for a robot without an agent. Flags may add what it leaves out. */
export interface WrittenRegistration {
  readonly name?: string;
  readonly robot_type_id?: string;
  readonly region?: string;
  readonly site?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly configuration_digest?: string;
  /** Absolute, in digest order. */
  readonly configurationFiles?: readonly string[];
}

export const REGISTRATION_HINTS: ReadonlyMap<string, string> = new Map([
  ["type", "did you mean robot_type_id?"],
  ["robot_type", "did you mean robot_type_id?"],
  ["digest", "did you mean configuration_digest?"],
  ["files", "did you mean configuration_files?"],
  ["contract", "name the robot manifest it is made of: --manifest FILE"],
]);

/** @param path of the file; paths in it are relative to its folder. */
export function writtenRegistration(path: string): Reader<WrittenRegistration> {
  const folder = dirname(resolve(path));
  return (place) => {
    const fields = fieldsOf(place);
    if (fields === undefined) return undefined;
    const name = fields.optional("name", words);
    const robotTypeId = fields.optional("robot_type_id", words);
    const region = fields.optional("region", words);
    const site = fields.optional("site", words);
    const labels = fields.optional("labels", labelMapping);
    const configurationDigest = fields.optional("configuration_digest", digest);
    const files = fields.optional("configuration_files", listOf(words, "files", FILES_COUNT));
    fields.close();
    if (configurationDigest !== undefined && files !== undefined) {
      const message = "configuration_digest and configuration_files are both set; leave one of them out";
      place.check.findings.error("conflict", place.path, place.node.offset, message);
    }
    return {
      ...(name === undefined ? {} : { name }),
      ...(robotTypeId === undefined ? {} : { robot_type_id: robotTypeId }),
      ...(region === undefined ? {} : { region }),
      ...(site === undefined ? {} : { site }),
      ...(labels === undefined ? {} : { labels }),
      ...(configurationDigest === undefined ? {} : { configuration_digest: configurationDigest }),
      ...(files === undefined ? {} : { configurationFiles: files.map((file) => resolve(folder, file)) }),
    };
  };
}

const digest: Reader<string> = (place) => {
  const written = string(place);
  if (written === undefined || CONFIGURATION_DIGEST_PATTERN.test(written)) return written;
  const { node, path, check } = place;
  const message = `${shown(written)} is not a digest: expected sha256: and 64 hexadecimal digits`;
  check.findings.error("digest_format", path, node.offset, message);
  return undefined;
};
