import { getCACertificates } from "node:tls";

import { expect, test } from "vitest";

import { trustedCertificates } from "../../../../src/client/transport/certificates.ts";

const OURS = ["-----BEGIN CERTIFICATE-----\nours\n-----END CERTIFICATE-----"];
const usual = getCACertificates("default");
const ofMachine = getCACertificates("system");

test.each([
  ["a CA file", OURS, false, [...usual, ...OURS]],
  ["the machine's own", [], true, [...usual, ...ofMachine]],
  ["a CA file and the machine's own", OURS, true, [...usual, ...ofMachine, ...OURS]],
  ["a CA file of what is trusted anyway", usual.slice(0, 1), false, usual],
])("trustedCertificates: %s beside Node's own, each once", (_what, extra, withSystem, expected) => {
  const trusted = trustedCertificates(extra, withSystem, process.env);
  expect(trusted?.toSorted()).toEqual([...new Set(expected)].toSorted());
});

test("trustedCertificates: nothing to add leaves Node's own, which it keeps parsed", () => {
  expect(trustedCertificates([], false, {})).toBeUndefined();
});
