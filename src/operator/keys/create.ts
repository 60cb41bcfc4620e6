import * as z from "zod";

import { operations } from "../../api/api.ts";
import { type ApiKeyCreate, ENROLLMENT_USES } from "../../api/keys.ts";
import { ENROLL_SCOPE, GENERAL_SCOPES } from "../../api/wire/scopes.ts";
import { defined } from "../../platform/defined.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../../platform/terminal.ts";
import type { OperatorCommand } from "../context.ts";
import { documentOfFailure } from "../failure.ts";
import { flagPlaces } from "../files/places.ts";
import type { OperatorFlags } from "../flags.ts";
import { readLabels } from "../fleets/selection-flags.ts";
import { readMomentFlag } from "../moments.ts";
import { withService } from "../operator.ts";
import { refuse, refuseFlags, refuseUsage, wordFix } from "../refuse.ts";
import { warnOfRegion } from "../robots/registration-checks.ts";
import type { Service } from "../service.ts";
import { keyIn, unconfirmedFlags } from "./created.ts";
import { keyFileProblem, writeKeyFile } from "./file.ts";

const CREATE_PLACES = flagPlaces({
  label: "LABEL",
  scopes: "--scope",
  expires_at: "--expires",
  "enrollment.uses": "--uses",
  "enrollment.site": "--site",
  "enrollment.region": "--region",
  "enrollment.labels": "--label",
  enrollment: "--enroll",
});

/** `keys create`: creates a key, and prints it once, or writes it to a new file without printing it. */
export const keysCreate: OperatorCommand = async (flags, context, label) => {
  const { terminal, machine } = context;
  if (label === undefined || label.trim() === "") {
    // The service accepts an empty label, but the label is what tells later what the key is for.
    return refuseUsage("the LABEL is empty", "say what the key is for: keys create 'cell 4'", terminal);
  }
  const strange = (flags.scope ?? []).find((scope) => !GENERAL_SCOPES.some((each) => each === scope));
  if (strange === ENROLL_SCOPE) {
    const fix = "give --enroll --uses 500 --expires 7d instead";
    return refuseUsage(`--scope ${ENROLL_SCOPE} needs more`, fix, terminal);
  }
  if (strange !== undefined) {
    return refuseUsage(`--scope '${strange}' is not a scope`, wordFix(strange, GENERAL_SCOPES), terminal);
  }
  const expiresAt = flags.expires === undefined ? undefined : readMomentFlag("--expires", flags.expires, context);
  if (expiresAt === null) return EXIT.usage;
  const { out } = flags;
  const enrollment = readEnrollment(flags, terminal);
  if (enrollment === null) return EXIT.usage;
  const body = {
    label,
    ...defined({
      scopes: flags.scope,
      expires_at: expiresAt?.iso,
    }),
    ...enrollment,
  };
  return withService(flags, context, async (service) => {
    if (flags.dryRun === true) return service.showRequest(operations.createApiKey, { body });
    // Before the key is created: a key that cannot be written would be lost.
    const obstacle = out === undefined ? null : await keyFileProblem(out, machine.files);
    if (obstacle !== null) return refuse(obstacle, EXIT.failed, terminal);
    if (flags.enroll === true && flags.region !== undefined) await warnOfRegion(service, flags.region, terminal);
    // The document leaves the members of the answer open: whatever it holds must not be lost.
    const result = await service.call({ ...operations.createApiKey, response: z.unknown() }, { body });
    const document = result.kind === "ok" ? result.value.document : documentOfFailure(result);
    if (result.kind !== "ok" && document === undefined) return service.failed(result, { body, places: CREATE_PLACES });
    const exitCode = await handOver({ label, document, out }, service);
    const unconfirmed = unconfirmedFlags(body, document);
    if (unconfirmed !== "") {
      terminal.warning(`the answer does not confirm ${unconfirmed}.`);
      terminal.note("  What the key may do, and until when: robot-policy keys list.");
    }
    return exitCode;
  });
};

interface Created {
  readonly label: string;
  /** The answer of the service. */
  readonly document: unknown;
  readonly out: string | undefined;
}

/** Prints the key, or writes it to the file of `--out`. An answer in which it is not known is kept whole. */
async function handOver({ label, document, out }: Created, service: Service): Promise<ExitCode> {
  const { terminal, flags, context } = service;
  const id = namedSchema.parse(document).id ?? null;
  const name = `The key ${label}${id === null ? "" : ` (${id})`}`;
  const key = keyIn(document, label);
  if (out !== undefined) {
    const unwritten = await writeKeyFile(out, key ?? JSON.stringify(document), context.machine.files);
    if (unwritten !== null) return giveUp(service, id, unwritten, key ?? JSON.stringify(document));
    if (key === null) return refuseUnrecognized(`the whole answer is in ${out}; leave only the key there`, terminal);
    return service.answer({ ...withoutKey(document, key), key_file: out }, () =>
      terminal.print(`${name} is in ${out}, which only you can read.`),
    );
  }
  if (key === null && flags.json !== true) {
    terminal.json(document);
    return refuseUnrecognized("take it from the answer above, which is shown only once", terminal);
  }
  return service.answer(document, () => {
    terminal.note(`${name}. It is shown only once:`);
    terminal.print(key ?? "");
  });
}

const namedSchema = z.looseObject({ id: z.string().optional().catch(undefined) }).catch({});

function refuseUnrecognized(fix: string, terminal: Terminal): ExitCode {
  const what = "the key is created, but which part of the answer it is cannot be told";
  return refuse({ code: "key-not-recognized", what, fix }, EXIT.failed, terminal);
}

function withoutKey(document: unknown, key: string): object {
  const rest = JSON.stringify(document, (_name, value: unknown) => (value === key ? undefined : value));
  return Object.assign({}, JSON.parse(rest ?? "{}"));
}

/** Revokes a key that could not be written. If that fails, shows the key, because it is stored nowhere else. */
async function giveUp(service: Service, id: string | null, unwritten: Problem, key: string): Promise<ExitCode> {
  const row = { ...operations.revokeApiKey, response: z.unknown() };
  const revoked = id === null ? null : await service.call(row, { parameters: { key_id: id } });
  if (revoked?.kind !== "ok") service.terminal.print(key);
  const next = revoked?.kind === "ok" ? "the new key was revoked again" : "it works, and is shown above, only once";
  return refuse({ ...unwritten, fix: `${unwritten.fix}; ${next}` }, EXIT.failed, service.terminal);
}

/** What a key for enrolments adds to the body that creates a key. */
type EnrollmentMembers = Pick<ApiKeyCreate, "scopes" | "enrollment">;

/** @returns undefined without `--enroll`; null after reporting what is wrong with the flags. */
function readEnrollment(flags: OperatorFlags, terminal: Terminal): EnrollmentMembers | undefined | null {
  if (flags.enroll !== true) return undefined;
  const { uses = "", expires, site, region, label } = flags;
  if (!/^[1-9]\d{0,5}$/.test(uses) || Number(uses) > ENROLLMENT_USES.maximum) {
    const what = uses === "" ? "--enroll needs --uses" : `--uses '${uses}' is not a number of robots`;
    return refuseFlags(
      what,
      `give a number from ${ENROLLMENT_USES.minimum} to ${ENROLLMENT_USES.maximum}: --uses 500`,
      terminal,
    );
  }
  if (expires === undefined) {
    return refuseFlags("--enroll needs --expires", "give a time at most 90 days ahead: --expires 7d", terminal);
  }
  const labels = label === undefined ? undefined : readLabels(label, terminal);
  if (labels === null) return null;
  return { scopes: [ENROLL_SCOPE], enrollment: { uses: Number(uses), ...defined({ site, region, labels }) } };
}
