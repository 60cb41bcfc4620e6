/**
 * Tells the service what the digest of a registration covers, part by part, and sends it the files that the manifest shares, so that people
 * see there what changed.
 *
 * Beyond the service document: a service may lack these operations. Nothing depends on them, so a failure is only logged for debugging, and
 * not repeated before the next registration.
 */
import { isUtf8 } from "node:buffer";

import type { RegistrationPart } from "../../api/differences.ts";
import { maskWholeKeys } from "../../api/wire/service-key.ts";
import { type CallResult, refusalText } from "../../client/call-result.ts";
import type { ServiceClient } from "../../client/client.ts";
import { isPathParameter } from "../../client/send-request.ts";
import { findSecret } from "../../documents/secrets.ts";
import { positionIn, shown } from "../../documents/texts.ts";
import type { FileFingerprint } from "../../look/snapshot.ts";
import { sha256Hex } from "../../platform/crypto.ts";
import { readBounded } from "../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";
import type { Log } from "../../platform/log/log.ts";
import type { LocatedFinding } from "../findings.ts";
import type { Registration } from "./registration.ts";

/** What a service takes (SHARED_CONTENT_BYTES in api/differences.ts, which is slow to load at each boot). */
export const SHARED_LIMIT_BYTES = 262_144;

export type SharedFile =
  | { readonly kind: "text"; readonly text: string; readonly sha256: string }
  /** It must not leave this computer, or cannot be shown. */
  | { readonly kind: "unsuitable"; readonly finding: LocatedFinding }
  | { readonly kind: "unreadable"; readonly code: string };

/** Reads a file that the manifest shares, as it is now. */
export async function readShared(
  files: Files,
  { path, label }: Pick<FileFingerprint, "path" | "label">,
): Promise<SharedFile> {
  const unsuitable = (id: string, text: string, offset: number, why: string): SharedFile => {
    const fix = `correct the file, or remove share: true from ${shown(label)} in the manifest`;
    const message = `${why}, so the content is not sent to the service; ${fix}`;
    const place = { file: path, loc: "", ...positionIn(text, offset) };
    return { kind: "unsuitable", finding: { id, severity: "warning", message, ...place } };
  };
  let bytes: Awaited<ReturnType<typeof readBounded>>;
  try {
    bytes = await readBounded(files, path, SHARED_LIMIT_BYTES);
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return { kind: "unreadable", code };
  }
  if (bytes === "too-large")
    return unsuitable("shared_unsuitable", "", 0, `larger than ${SHARED_LIMIT_BYTES} bytes, the limit of shared files`);
  const text = Buffer.from(bytes).toString("utf8");
  const binary = isUtf8(bytes) ? text.indexOf("\0") : text.indexOf("\uFFFD");
  if (binary >= 0) return unsuitable("shared_unsuitable", text, binary, "not text in UTF-8 here");
  const secret = findSecret(text);
  if (secret !== undefined)
    return unsuitable("shared_secret", text, secret.offset, `${secret.what} looks like a secret`);
  return { kind: "text", text, sha256: sha256Hex(bytes) };
}

/** Sends in the background: no registration, confirmation or stop waits for it. */
export function createPartsSender(options: {
  readonly files: Files;
  readonly log: Log;
  /** Called when there are other findings. */
  onFindings(): void;
}) {
  const { files, log } = options;
  let findings: readonly LocatedFinding[] = [];
  let running = new AbortController();
  let sending = Promise.resolve();
  /** The registration that was told last, or tried to; null for none since the start. */
  let tried: Registration | null = null;
  /** It was told to a service that has no such operation. */
  let isUnknown = false;

  /** @returns the hashes of the shared contents that the service does not have. */
  async function tell(
    { request, files: hashed }: Registration,
    client: ServiceClient,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const { name, configuration_digest: digest } = request;
    const body = { configuration_digest: digest, parts: hashed.map(partOf) };
    const told = await client.putRegistrationParts(name, body, signal);
    if (told.kind === "ok") return new Set(told.value.missing);
    if (!signal.aborted) isUnknown = told.kind === "refused" && (told.status === 404 || told.status === 405);
    log.debug("parts-not-taken", { detail: detailOf(told) });
    return new Set();
  }

  /** @returns why some are not shared. */
  async function share(
    { request, files: hashed }: Registration,
    missing: ReadonlySet<string>,
    client: ServiceClient,
    signal: AbortSignal,
  ): Promise<readonly LocatedFinding[]> {
    const shared = new Map(hashed.filter((file) => file.share === true).map((file) => [file.sha256, file]));
    const found: LocatedFinding[] = [];
    for (const [sha256, file] of shared) {
      if (!missing.has(sha256)) continue;
      const read = await readShared(files, file);
      if (signal.aborted) break;
      if (read.kind === "unsuitable") found.push(read.finding);
      // Whatever it holds by now is another registration's.
      if (read.kind !== "text" || read.sha256 !== sha256) continue;
      const sent = await client.putSharedContent(request.name, sha256, read.text, signal);
      if (sent.kind === "ok") continue;
      log.debug("content-not-taken", { path: file.path, detail: detailOf(sent) });
      // Only these are about this one file.
      if (sent.kind !== "refused" || (sent.status !== 413 && sent.status !== 422)) break;
    }
    return found;
  }

  async function tellAndShare(registration: Registration, client: ServiceClient, signal: AbortSignal): Promise<void> {
    const found = await share(registration, await tell(registration, client, signal), client, signal);
    if (signal.aborted) return;
    const isNews = found.length > 0 || findings.length > 0;
    findings = found;
    if (isNews) options.onFindings();
  }

  /** Ends what is under way. @param signal of the agent. */
  function send(registration: Registration, client: ServiceClient, signal: AbortSignal): void {
    if (!isPathParameter(registration.request.name)) return;
    running.abort();
    running = new AbortController();
    tried = registration;
    sending = tellAndShare(registration, client, AbortSignal.any([signal, running.signal]));
  }

  return {
    /** The service accepted this registration. */
    registered(registration: Registration, client: ServiceClient, signal: AbortSignal) {
      // Such a service may also be unable to confirm a registration, which is then repeated each day.
      if (isUnknown && tried !== null && isSame(tried, registration)) return;
      send(registration, client, signal);
    },
    /** The service has this registration without its parts: an agent was stopped before it told them, or it was an earlier one. */
    lacking(registration: Registration, client: ServiceClient, signal: AbortSignal) {
      if (tried?.registered_at !== registration.registered_at) send(registration, client, signal);
    },
    /** Resolves when nothing is under way. */
    done: () => sending,
    /** Why files of the last registration are not shared. */
    get findings() {
      return findings;
    },
  };
}

function partOf({ label, sha256, bytes, line, pattern, share }: FileFingerprint): RegistrationPart {
  return {
    label: maskWholeKeys(label),
    kind: line !== undefined ? "device" : pattern !== undefined ? "pattern" : "file",
    sha256,
    bytes,
    ...(line !== undefined && { line }),
    shared: share === true,
  };
}

function isSame(one: Registration, other: Registration): boolean {
  const isSameDigest = one.request.configuration_digest === other.request.configuration_digest;
  return isSameDigest && one.service_url === other.service_url;
}

function detailOf(result: Exclude<CallResult<unknown>, { kind: "ok" }>): string {
  if (result.kind === "no-credential") return result.problem.what;
  return result.kind === "refused" ? refusalText(result) : result.detail;
}
