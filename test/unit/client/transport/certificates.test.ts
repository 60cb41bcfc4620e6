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
  ["a CA file with an already trusted certificate", usual.slice(0, 1), false, usual],
])("trustedCertificates: %s → in addition to Node's own, without duplicates", (_what, extra, withSystem, expected) => {
  const trusted = trustedCertificates(extra, withSystem, process.env);
  expect(trusted?.toSorted()).toEqual([...new Set(expected)].toSorted());
});

test("trustedCertificates: nothing to add → undefined, so that Node uses its cached default", () => {
  expect(trustedCertificates([], false, {})).toBeUndefined();
});
