import { operations } from "../../api/api.ts";
import { CONFIGURATION_DIGEST_PATTERN } from "../../api/robots.ts";
import type { RobotManifest } from "../../manifest/manifest.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { hashFiles } from "../hash-files.ts";
import { readManifestFile } from "../manifest-file.ts";
import type { OperatorContext, OperatorFlags } from "../operator.ts";
import { withService } from "../operator.ts";
import type { Places } from "../places.ts";
import { flagPlaces } from "../places.ts";
import type { WrittenRegistration } from "../registration-file.ts";
import { REGISTRATION_HINTS, writtenRegistration } from "../registration-file.ts";
import { readLabels } from "../selection-flags.ts";
import { readWritten } from "../written-file.ts";

export interface RobotsSetupFlags extends OperatorFlags {
  readonly from?: string;
  readonly manifest?: string;
  readonly name?: string;
  readonly type?: string;
  readonly region?: string;
  readonly site?: string;
  readonly label?: readonly string[];
  readonly file?: readonly string[];
  readonly configurationDigest?: string;
  readonly dryRun?: boolean;
}

const FLAGS = flagPlaces({
  name: "--name",
  robot_type_id: "--type",
  region: "--region",
  site: "--site",
  labels: "--label",
  configuration_digest: "--file",
  contract: "--manifest",
});

/**
 * `robots setup`: registers a robot that has no agent, from flags, or from a file of which flags replace single members. What a robot
 * manifest says, its type, its files and its contract, counts where neither says it.
 */
export async function robotsSetup(flags: RobotsSetupFlags, context: OperatorContext): Promise<ExitCode> {
  const { terminal } = context;
  const from_flags = readFlags(flags, terminal);
  if (from_flags === null) return EXIT.usage;
  const json = flags.json === true;
  const file = flags.from === undefined ? null : await readWritten(flags.from, rulesFor(flags.from, json), context);
  if (file?.kind === "unusable") return file.exit_code;
  const read = flags.manifest === undefined ? null : await readManifestFile(flags.manifest, context);
  if (typeof read === "number") return read;
  const manifest = read?.manifest ?? null;
  const written = { ...fromManifest(manifest), ...file?.value, ...from_flags };
  const { name, robot_type_id, region, site, labels } = written;
  if (name === undefined || robot_type_id === undefined || region === undefined) {
    return refuseIncomplete(written, flags, terminal);
  }
  const configuration_digest = await digestOf(from_flags, file?.value ?? {}, manifest, context);
  if (typeof configuration_digest === "number") return configuration_digest;
  const contract = manifest?.contract ?? null;
  const body = {
    name,
    robot_type_id,
    region,
    configuration_digest,
    ...(site === undefined ? {} : { site }),
    ...(labels === undefined ? {} : { labels }),
    ...(contract === null ? {} : { contract }),
  };
  const places: Places = (loc) => {
    const member = String(loc[1]);
    if (Object.hasOwn(from_flags, member)) return FLAGS(loc);
    if (file !== null && Object.hasOwn(file.value, member)) return file.places(loc);
    return read?.places(loc) ?? FLAGS(loc);
  };
  return withService(flags, context, async (service) => {
    if (flags.dryRun === true) return service.showRequest(operations.setupRobot, { body }, json);
    const result = await service.call(operations.setupRobot, { body });
    if (result.kind !== "ok") return service.failed(result, { body, places });
    const { robot } = result.value.value;
    if (json) terminal.json(result.value.document);
    else terminal.print(`${robot.name} is registered (${robot.id}) with ${configuration_digest}.`);
    return EXIT.ok;
  });
}

function rulesFor(path: string, json: boolean) {
  return { subject: "registration", reader: writtenRegistration(path), hints: REGISTRATION_HINTS, json } as const;
}

/** What the flags say; null after telling what is wrong with them. */
function readFlags(flags: RobotsSetupFlags, terminal: Terminal): WrittenRegistration | null {
  const { name, type, region, site, label, file, configurationDigest: digest } = flags;
  const labels = label === undefined ? undefined : readLabels(label, terminal);
  if (labels === null) return null;
  if (digest !== undefined && !CONFIGURATION_DIGEST_PATTERN.test(digest)) {
    const what = `--configuration-digest '${digest}' is no digest`;
    terminal.problem({
      code: "usage",
      what,
      fix: "it is sha256: and 64 digits from 0 to f, as the agent's digest prints it",
    });
    return null;
  }
  if (digest !== undefined && file !== undefined) {
    const what = "--file and --configuration-digest were both given";
    terminal.problem({ code: "usage", what, fix: "give the files, or their digest" });
    return null;
  }
  return {
    ...(name === undefined ? {} : { name }),
    ...(type === undefined ? {} : { robot_type_id: type }),
    ...(region === undefined ? {} : { region }),
    ...(site === undefined ? {} : { site }),
    ...(labels === undefined ? {} : { labels }),
    ...(digest === undefined ? {} : { configuration_digest: digest }),
    ...(file === undefined ? {} : { configuration_files: file }),
  };
}

function fromManifest(manifest: RobotManifest | null): WrittenRegistration {
  return manifest === null ? {} : { robot_type_id: manifest.robot_type_id };
}

function refuseIncomplete(
  { name, robot_type_id, region }: WrittenRegistration,
  { from }: RobotsSetupFlags,
  terminal: Terminal,
): ExitCode {
  const lacks = [
    ["name", "--name", name],
    ["robot_type_id", "--type or --manifest", robot_type_id],
    ["region", "--region", region],
  ].filter(([, , value]) => value === undefined);
  const members = lacks.map(([member]) => member).join(", ");
  const what = from === undefined ? "too little is said of the robot" : `${from} does not say ${members}`;
  terminal.problem({ code: "usage", what, fix: `give ${lacks.map(([, flag]) => flag).join(", ")}` });
  return from === undefined ? EXIT.usage : EXIT.invalid;
}

/** The digest that is given, or that of the files: of the flags, else of the file, else of the manifest. */
async function digestOf(
  flags: WrittenRegistration,
  file: WrittenRegistration,
  manifest: RobotManifest | null,
  context: OperatorContext,
): Promise<string | ExitCode> {
  const says = (source: WrittenRegistration) =>
    source.configuration_digest !== undefined || source.configuration_files !== undefined;
  const source = says(flags) ? flags : file;
  if (source.configuration_digest !== undefined) return source.configuration_digest;
  const of_manifest = says(source) ? [] : (manifest?.configuration_files ?? []);
  const home = of_manifest.find(({ path }) => path.startsWith("~/"));
  const { terminal } = context;
  if (home !== undefined) {
    const what = `the manifest lists ${home.path}, and whose home that is only the robot knows`;
    terminal.problem({ code: "home_missing", what, fix: "give the files with --file, in the order of the manifest" });
    return EXIT.invalid;
  }
  const files = source.configuration_files ?? of_manifest.map(({ path }) => path);
  if (files.length === 0) terminal.note("No configuration files: the digest covers nothing. --file names them.");
  const snapshot = await hashFiles(files, context);
  return typeof snapshot === "number" ? snapshot : snapshot.digest;
}
