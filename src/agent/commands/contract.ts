import { resolve } from "node:path";

import { isError } from "../../documents/findings.ts";
import type { RobotSetup } from "../../api/robots.ts";
import { diffContracts, formulaOf, rangeText } from "../../differences/contract.ts";
import { isContract } from "../../api/is-contract.ts";
import { type ActionAxis, type Contract, contractDigest, type StateAxis } from "../../manifest/custom/contract.ts";
import type { RobotManifest } from "../../manifest/manifest.ts";
import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import { resolveFolders } from "../configuration/folders.ts";
import { type Document, readConfigurationNow, readManifestNow } from "../configuration/documents.ts";
import { openState } from "../registration/registration.ts";
import { documentFindings } from "../findings.ts";
import type { CommandContext, CommonOptions } from "./context.ts";
import { showFindings, showProblem } from "./show.ts";

export interface ContractOptions extends CommonOptions {
  readonly diff?: boolean;
}

/**
 * `contract [FILE]`: shows the contract of a custom robot type in the normalized form that is sent with a registration.
 *
 * @param file a manifest; without it, the one that the configuration names.
 */
export async function contract(
  options: ContractOptions,
  context: CommandContext,
  file: string | undefined,
): Promise<ExitCode> {
  const document = await openDocument(options, context, file);
  const manifest = document.reading.value;
  const findings = documentFindings(document);
  const isValid = !findings.some(isError);
  if (options.diff === true && isValid && manifest !== null) return showDiff(options, context, manifest);
  if (options.json === true) {
    context.terminal.json({ findings, contract: manifest?.contract ?? null });
    return isValid ? EXIT.ok : EXIT.invalid;
  }
  await showFindings(findings, context);
  if (manifest === null) return isValid ? EXIT.ok : EXIT.invalid;
  describe(manifest, context.terminal);
  return EXIT.ok;
}

/** The manifest; or the configuration when its errors hide the path of the manifest. */
async function openDocument(
  options: ContractOptions,
  { machine, environment }: CommandContext,
  file: string | undefined,
): Promise<Document<RobotManifest>> {
  if (file !== undefined) return readManifestNow(machine, resolve(file));
  const configuration = await readConfigurationNow(machine, resolveFolders(options, environment).configPath);
  if (configuration.reading.value === null)
    return { ...configuration, reading: { ...configuration.reading, value: null } };
  return readManifestNow(machine, configuration.reading.value.manifest);
}

function describe(manifest: RobotManifest, terminal: Terminal): void {
  const { contract: normalized, robot_type_id: robotTypeId } = manifest;
  if (normalized === null) {
    terminal.print(
      manifest.status === "draft"
        ? "No contract is sent: the manifest is a draft."
        : `No contract is sent: ${robotTypeId} registers by its id.`,
    );
    return;
  }
  terminal.print(`${terminal.style("bold", normalized.robot_type_id)}  ${normalized.display_name ?? ""}`.trimEnd());
  terminal.table(
    ["", ""],
    [
      ["topology", normalized.topology],
      ["actions", `${normalized.action_semantics}, ${normalized.control_rate_hz} Hz, gripper ${normalized.gripper}`],
      [
        "cameras",
        normalized.cameras.map(({ role, width, height, fps }) => `${role} ${width}×${height} ${fps} fps`).join(", "),
      ],
      ["digest", contractDigest(normalized)],
    ],
  );
  describeVectors(normalized, terminal);
}

function describeVectors({ state_axes: stateAxes, action_axes: actionAxes }: Contract, terminal: Terminal): void {
  const rows = (axes: readonly (StateAxis & Pick<ActionAxis, "max_step">)[]) =>
    axes.map((axis, index) => [
      String(index),
      axis.name,
      rangeText({ unit: axis.unit, ...(axis.range && { range: [brief(axis.range[0]), brief(axis.range[1])] }) }),
      axis.native === undefined
        ? ""
        : formulaOf({ ...axis.native, scale: brief(axis.native.scale), offset: brief(axis.native.offset) }),
      axis.max_step === undefined ? "" : String(brief(axis.max_step)),
    ]);
  terminal.print("");
  terminal.table(["#", "action", "range", "from native", "max step"], rows(actionAxes));
  terminal.print("");
  terminal.table(
    ["#", "state", "range", "from native"],
    rows(stateAxes).map((row) => row.slice(0, 4)),
  );
}

/** Rounded, with enough digits to distinguish two limits; --json gives all digits. */
function brief(value: number): number {
  return Number(value.toPrecision(5));
}

/** `--diff`: against what is registered. */
async function showDiff(
  options: ContractOptions,
  { machine, environment, terminal }: CommandContext,
  manifest: RobotManifest,
): Promise<ExitCode> {
  const state = await openState(machine, resolveFolders(options, environment).stateDirectory, false);
  if (state.kind === "problem") return showProblem(state.problem, { changes: [] }, options, terminal);
  const { registration } = state;
  const before = registeredContract(registration?.request);
  const { contract: now } = manifest;
  if (before === null || now === null) {
    const what = differenceInForm(registration?.request, before !== null, manifest);
    if (options.json === true) terminal.json({ changes: [], note: what });
    else terminal.print(what);
    return EXIT.ok;
  }
  const changes = diffContracts(before, now);
  if (options.json === true) {
    terminal.json({ changes, note: null });
    return EXIT.ok;
  }
  if (changes.length === 0) terminal.print("The registered contract is the same.");
  for (const { kind, where, what } of changes) {
    const isRisky = kind === "order" || kind === "direction" || kind === "unit";
    terminal.print(`${terminal.style(isRisky ? "bad" : "bold", where)}  ${what}`);
  }
  return EXIT.ok;
}

function registeredContract(request: RobotSetup | undefined): Contract | null {
  const registered = request?.contract ?? null;
  return registered !== null && isContract(registered) ? registered : null;
}

function differenceInForm(
  request: RobotSetup | undefined,
  hadContract: boolean,
  { status, robot_type_id: robotTypeId, contract: normalized }: RobotManifest,
): string {
  if (request === undefined) return "Nothing is registered yet.";
  if (status === "draft") return "The manifest is a draft: what is registered stays.";
  const form = (id: string, hasContract: boolean) => `${id} ${hasContract ? "with" : "without"} a contract`;
  const before = form(request.robot_type_id, hadContract);
  const now = form(robotTypeId, normalized !== null);
  return before === now ? `Registered as ${before}, as it is now.` : `Registered as ${before}; it is now ${now}.`;
}
