import { getCACertificates } from "node:tls";

import { expect, test } from "vitest";

import { trustedCertificates } from "../../../../src/client/transport/certificates.ts";

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
