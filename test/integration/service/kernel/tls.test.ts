/** @module-tag needs/program */
import { execFileSync } from "node:child_process";
import { rename, writeFile } from "node:fs/promises";
import { get } from "node:https";
import { connect as connectPlain } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { connect, type SecureVersion } from "node:tls";

import { describe, expect, it, onTestFinished } from "vitest";

import { systemClock } from "../../../../src/platform/clock.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";
import { readCertificatePair } from "../../../../src/service/kernel/connections/tls.ts";
import { testFolder } from "../../../support/folder.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { WITHOUT_POSTGRES } from "../../../support/service/postgres.ts";
import type { RunningService } from "../../../support/service/service.ts";
import { usePostgres } from "../../../support/service/stores.ts";
import { startTcpProxy } from "../../../support/service/tcp-proxy.ts";
import { type Certified, createAuthority, type Validity } from "../../client/authority.ts";
import { testService } from "../../../support/service/test-service.ts";

/** A folder for `cert.pem` and `key.pem`, and an authority that issues them. */
function scene() {
  const authority = createAuthority();
  onTestFinished(() => authority[Symbol.dispose]());
  const folder = testFolder("tls");
  const files = { certFile: join(folder, "cert.pem"), keyFile: join(folder, "key.pem") };
  const put = async ({ cert, key }: Partial<Certified>): Promise<void> => {
    // As certbot does: whole files, by rename.
    for (const [path, text] of [[files.keyFile, key] as const, [files.certFile, cert] as const]) {
      if (text === undefined) continue;
      await writeFile(`${path}.new`, text);
      await rename(`${path}.new`, path);
    }
  };
  return { authority, folder, files, put, issue: (validity?: Validity) => authority.issue("127.0.0.1", validity) };
}

type Scene = ReturnType<typeof scene>;

async function serve(
  { files }: Scene,
  limits: Readonly<Record<string, number>> = {},
  clock = systemClock,
): Promise<RunningService> {
  const running = await testService({
    configuration: { tls: files },
    limits,
    clock,
  });
  return running;
}

interface Offer {
  readonly minVersion?: SecureVersion;
  readonly maxVersion?: SecureVersion;
  readonly ciphers?: string;
}

/** Serial number of the certificate that a new connection is served with. */
async function servedSerial(url: string, offer: Offer = {}) {
  const { port } = new URL(url);
  const socket = connect({ host: "127.0.0.1", port: Number(port), rejectUnauthorized: false, ...offer });
  try {
    await once(socket, "secureConnect");
    return socket.getPeerCertificate().serialNumber;
  } finally {
    socket.destroy();
  }
}

describe("TLS by files", () => {
  it("https → a certificate that clients can verify", async () => {
    const site = scene();
    await site.put(site.issue());
    const { url } = await serve(site);
    expect(url).toMatch(/^https:/);
    const { readFileSync } = await import("node:fs");
    const request = get(`${url}/healthz`, { ca: readFileSync(site.authority.ca_file), agent: false });
    const [answer] = await once(request, "response");
    expect(answer.statusCode).toBe(200);
    answer.resume();
  });

  it("TLS 1.2 and 1.3 → accepted; older versions, weak ciphers and plain HTTP → refused", async () => {
    const site = scene();
    await site.put(site.issue());
    const { url, log } = await serve(site);
    await servedSerial(url, { maxVersion: "TLSv1.2" });
    await servedSerial(url, { minVersion: "TLSv1.3" });
    await expect(servedSerial(url, { minVersion: "TLSv1", maxVersion: "TLSv1.1" })).rejects.toThrow();
    // Ciphers without forward secrecy, and with CBC, for both kinds of certificate.
    for (const ciphers of ["AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA256"]) {
      await expect(servedSerial(url, { maxVersion: "TLSv1.2", ciphers })).rejects.toThrow();
    }
    const plain = connectPlain(Number(new URL(url).port), "127.0.0.1");
    plain.on("error", () => {});
    plain.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    await once(plain, "close");
    expect((await servedSerial(url)) !== "").toBe(true);
    expect(log()).not.toContain('"level":"error"');
  });

  it("no handshake → closed after the time limit", async () => {
    const site = scene();
    await site.put(site.issue());
    const { url } = await serve(site, { headersTimeoutMs: 200 });
    const silent = connectPlain(Number(new URL(url).port), "127.0.0.1");
    silent.on("error", () => {});
    await once(silent, "close");
  });

  it("reload → new connections get the new certificate, open ones continue", async () => {
    const site = scene();
    await site.put(site.issue());
    const { url, reload, log } = await serve(site);
    const before = await servedSerial(url);
    const open = connect({ host: "127.0.0.1", port: Number(new URL(url).port), rejectUnauthorized: false });
    await once(open, "secureConnect");
    await site.put(site.issue());
    await reload();
    expect(await servedSerial(url)).not.toBe(before);
    expect(log()).toContain("tls_reloaded");
    open.write("GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    const [bytes] = await once(open, "data");
    expect(String(bytes)).toMatch(/^HTTP\/1.1 200/);
  });

  describe.skipIf(WITHOUT_POSTGRES)("and a database", { tags: "needs/postgres" }, () => {
    const databases = usePostgres();

    it("reload while the database is away → the models cannot be applied, the certificate is used", async () => {
      const site = scene();
      await site.put(site.issue());
      const modelsFile = join(site.folder, "models.yaml");
      await writeFile(modelsFile, "models: []\n");
      const database = new URL((await databases.withSchema()).url);
      await using proxy = await startTcpProxy(database.href);
      database.port = new URL(proxy.url).port;
      const { url, reload } = await testService({
        store: { kind: "postgres", url: database.href },
        configuration: { tls: site.files, modelsFile },
      });
      const before = await servedSerial(url);
      await site.put(site.issue());
      await proxy.refuse();
      await expect(reload()).rejects.toThrow();
      await expect.poll(() => servedSerial(url), { timeout: PATIENCE_MS }).not.toBe(before);
      await proxy.listen();
    });
  });

  it.each<[string, (site: Scene) => Promise<void>, string]>([
    ["is gone", async ({ files }) => rename(files.certFile, `${files.certFile}.old`), "tls-certificate-unreadable"],
    ["has expired", async ({ put, issue }) => put(issue("past")), "tls-certificate-expired"],
  ])("reload, new certificate %s → the old one stays in force, logged", async (_what, spoil, code) => {
    const site = scene();
    await site.put(site.issue());
    const { url, reload, log } = await serve(site);
    const before = await servedSerial(url);
    await spoil(site);
    await reload();
    expect(await servedSerial(url)).toBe(before);
    expect(log()).toContain(`"code":"${code}"`);
    await site.put(site.issue());
    await reload();
    expect(await servedSerial(url)).not.toBe(before);
  });

  it.each<[string, (site: Scene) => Promise<void>, string, keyof Scene["files"]]>([
    ["no files", async () => {}, "tls-certificate-unreadable", "certFile"],
    ["no key", async ({ put, issue }) => put({ cert: issue().cert }), "tls-key-unreadable", "keyFile"],
    ["an expired certificate", async ({ put, issue }) => put(issue("past")), "tls-certificate-expired", "certFile"],
    [
      "the key of another certificate",
      async ({ put, issue }) => put({ ...issue(), key: otherKey() }),
      "tls-pair-mismatch",
      "keyFile",
    ],
    [
      "a key with a passphrase",
      async ({ put, issue }) => put({ ...issue(), key: lockedKey() }),
      "tls-key-invalid",
      "keyFile",
    ],
    [
      "files with other content",
      async ({ put }) => put({ cert: "x", key: "y" }),
      "tls-certificate-invalid",
      "certFile",
    ],
  ])("start with %s → refused, names the file", async (_what, prepare, code, file) => {
    const site = scene();
    await prepare(site);
    await expect(serve(site)).rejects.toThrow(code);
    const reading = await readCertificatePair(systemFiles, site.files, Date.now());
    expect(reading).toMatchObject({ state: "refused", problem: { code, where: site.files[file] } });
  });

  it.each([
    ["EACCES", /^give this user permission to read it/],
    ["ENOENT", /^name a PEM file that is there$/],
  ])("file that fails with %s → says what to do", async (code, fix) => {
    const openForReading = () => Promise.reject(Object.assign(new Error(code), { code }));
    const reading = await readCertificatePair({ ...systemFiles, openForReading }, scene().files, Date.now());
    expect(reading).toMatchObject({ problem: { code: "tls-certificate-unreadable", fix: expect.stringMatching(fix) } });
  });

  it("certificate not valid yet → served with a warning, because the clock may be wrong", async () => {
    const site = scene();
    await site.put(site.issue("future"));
    const { url, log } = await serve(site);
    expect(await servedSerial(url)).not.toBe("");
    await expect.poll(log).toContain("tls_certificate_not_valid_yet");
  });

  it.each([
    [15, false],
    [13, true],
  ])("certificate that expires in %i days → in the metrics; a warning: %s", async (days, hasWarning) => {
    const site = scene();
    await site.put(site.issue());
    const endMs = Date.parse("2099-01-01T00:00:00Z");
    const wallMs = () => endMs - days * 24 * 3_600_000;
    const { url, log } = await serve(site, {}, { ...systemClock, wallMs });
    const ends = async () => /^\w+tls_certificate_not_after_seconds (\d+)$/m.exec(await textOf(`${url}/metrics`))?.[1];
    await expect.poll(ends).toBe(String(endMs / 1000));
    expect(log().includes("tls_certificate_expires_soon")).toBe(hasWarning);
  });
});

async function textOf(url: string): Promise<string> {
  const [answer] = await once(get(url, { rejectUnauthorized: false, agent: false }), "response");
  let text = "";
  for await (const chunk of answer) text += String(chunk);
  return text;
}

function otherKey(): string {
  return openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1");
}

function lockedKey(): string {
  return openssl(
    "genpkey",
    "-algorithm",
    "EC",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-aes256",
    "-pass",
    "pass:x",
  );
}

function openssl(...args: readonly string[]): string {
  return execFileSync("openssl", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}
