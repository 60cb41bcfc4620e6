/** The error in an answer, from the readers that read the files later; null when it is valid. */
import { isAbsolute, resolve } from "node:path";

import { parseServiceUrl } from "../../client/transport/service-url.ts";
import { READY_CATALOG } from "../../manifest/catalog/ids.ts";
import { readManifest } from "../../manifest/manifest.ts";
import { readConfiguration } from "../configuration/configuration.ts";
import { DEFAULTS } from "../configuration/keys.ts";
import { configurationText } from "./configuration-text.ts";
import { manifestText } from "./manifest-text.ts";
import { isError } from "../../manifest/finding.ts";

const NOTHING_KNOWN = {
  url: null,
  region: null,
  ca_file: null,
  allow_insecure: false,
  proxy: null,
  enrolment_key_file: null,
  name: DEFAULTS.robot.name,
  labels: {},
  needsHome: false,
};

export function urlProblem(answer: string, allowInsecure: boolean): string | null {
  const parsed = parseServiceUrl(answer, allowInsecure);
  if (parsed.kind === "url") return null;
  const fix = parsed.code === "url-insecure" ? "use https, or begin again with --allow-insecure" : parsed.fix;
  return `${parsed.what}; ${fix}`;
}

export function regionProblem(answer: string): string | null {
  return configurationProblem({ region: answer }, "/robot/region");
}

export function nameProblem(answer: string): string | null {
  return configurationProblem({ name: answer }, "/robot/name");
}

export function caFileProblem(path: string): string | null {
  return configurationProblem({ ca_file: absolute(path) }, "/service/ca_file");
}

function configurationProblem(
  answer: { region?: string; ca_file?: string; name?: string },
  loc: string,
): string | null {
  const text = configurationText({ ...NOTHING_KNOWN, key_file: "/api-key", ...answer }, "");
  const { findings } = readConfiguration(Buffer.from(text), { path: "/config.yaml" });
  return findings.find((finding) => finding.loc === loc && isError(finding))?.message ?? null;
}

export async function typeProblem(answer: string): Promise<string | null> {
  const text = manifestText({ robotTypeId: answer, displayName: null, files: [] }, "");
  const { findings } = await readManifest(Buffer.from(text), READY_CATALOG);
  return findings.find(isError)?.message ?? null;
}

/** @param before the files that were answered already. */
export async function fileProblem(answer: string, before: readonly string[]): Promise<string | null> {
  const files = [...before, answer].map((path) => ({ label: null, path: absolute(path) }));
  const text = manifestText({ robotTypeId: null, displayName: null, files }, "");
  const { findings } = await readManifest(Buffer.from(text), READY_CATALOG);
  const finding = findings.find((each) => isError(each) && each.id !== "placeholder");
  return finding === undefined ? null : withoutLine(finding.message);
}

/** The message without its line number: the file that it counts in is not written yet. */
export function withoutLine(message: string): string {
  return message.replace(/ at line \d+$/, "");
}

/** Keeps `~/`, which refers to `robot.home` in the configuration. */
export function absolute(path: string): string {
  return isAbsolute(path) || path.startsWith("~/") ? path : resolve(path);
}
