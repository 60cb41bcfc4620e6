import { X509Certificate } from "node:crypto";
import { getCACertificates } from "node:tls";

import { expect, test } from "vitest";

import { systemCertificates, trustedCertificates } from "../../../../src/client/transport/certificates.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";

const OURS = ["-----BEGIN CERTIFICATE-----\nours\n-----END CERTIFICATE-----"];
const usual = getCACertificates("default");

test.each([
  ["others", OURS, [...usual, ...OURS]],
  ["an already trusted one", usual.slice(0, 1), usual],
])("trustedCertificates: %s → in addition to Node's own, without duplicates", (_what, extra, expected) => {
  expect(trustedCertificates(extra)?.toSorted()).toEqual([...new Set(expected)].toSorted());
});

test("trustedCertificates: nothing to add → undefined, so that Node uses its cached default", () => {
  expect(trustedCertificates([])).toBeUndefined();
});

test("systemCertificates: the store of this machine → the certificates that Node reads from it", async () => {
  const read = (pem: string) => new X509Certificate(pem).fingerprint256;
  const ours = await systemCertificates(systemFiles, process.env);
  expect(new Set(ours.map(read))).toEqual(new Set(getCACertificates("system").map(read)));
});

test("systemCertificates: no store → none", async () => {
  const environment = { SSL_CERT_DIR: "/nonexistent", SSL_CERT_FILE: "/nonexistent" };
  expect(await systemCertificates(systemFiles, environment)).toEqual([]);
});
