import { expect, it } from "vitest";

import { readClientAddress } from "../../../../../src/service/kernel/traffic/client-address.ts";

it.each([
  ["10.0.0.1", "10.0.0.1", "10.0.0.1"],
  ["::ffff:10.0.0.1", "10.0.0.1", "10.0.0.1"],
  ["unknown", "unknown", "unknown"],
  ["2001:db8:0:1::1", "2001:db8:0:1::/64", "2001:db8:0::/48"],
  ["2001:db8::ffff:1", "2001:db8:0:0::/64", "2001:db8:0::/48"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"],
  ["::1", "0:0:0:0::/64", "0:0:0::/48"],
  ["fe80::1%eth0", "fe80:0:0:0::/64", "fe80:0:0::/48"],
])("%s → network %s, site %s", (address, network, site) => {
  expect(readClientAddress(address)).toEqual({ network, site });
});
