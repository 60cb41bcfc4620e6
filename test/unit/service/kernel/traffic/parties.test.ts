import { expect, it } from "vitest";

import { createTally, identifyClient } from "../../../../../src/service/kernel/traffic/parties.ts";

const SHARES = { credential: 10, network: 20, site: 30, all: 40 };

/** One client for each pair of a token and an address. */
function clientsOf(...pairs: readonly (readonly [token: string | undefined, address: string])[]) {
  return pairs.map(([token, address]) => identifyClient(token, address));
}

it.each([
  ["a credential", "credential", 10, ["a", "192.0.2.1"], ["a", "192.0.2.2"]],
  ["an address", "network", 20, ["a", "192.0.2.1"], ["b", "192.0.2.1"]],
  ["an IPv6 network", "network", 20, ["a", "2001:db8::1"], ["b", "2001:db8::2"]],
  ["an IPv6 site", "site", 30, ["a", "2001:db8:0:1::1"], ["b", "2001:db8:0:2::1"]],
  ["everybody", "all", 40, ["a", "192.0.2.1"], ["b", "192.0.2.2"]],
] as const)("%s has no more than its share, whoever else shares it", (_whose, party, most, one, other) => {
  const shares = { credential: 100, network: 100, site: 100, all: 100, [party]: most };
  const tally = createTally(shares);
  const [first, second] = clientsOf(one, other).map((client) => tally.open(client));
  expect(first?.tryResize(most - 1)).toBeNull();
  expect([second?.tryResize(2), second?.tryResize(1)]).toEqual([party, null]);
  first?.resize(0);
  expect(second?.tryResize(most)).toBeNull();
});

it("one client's amount does not reduce the shares of others", () => {
  const tally = createTally(SHARES);
  const [greedy, honest] = clientsOf(["a", "192.0.2.1"], ["b", "192.0.2.2"]);
  if (greedy === undefined || honest === undefined) throw new Error("no clients");
  const held = Array.from({ length: 50 }, () => tally.open(greedy).tryResize(1));
  expect(held.filter((full) => full === null)).toHaveLength(10);
  expect(held.filter((full) => full === "credential")).toHaveLength(40);
  expect(tally.open(honest).tryResize(10)).toBeNull();
});

it("an amount above the limit is granted when nobody holds any", () => {
  const tally = createTally(SHARES);
  const [large, small] = clientsOf(["a", "::1"], ["a", "::1"]).map((client) => tally.open(client));
  expect([large?.tryResize(500), small?.tryResize(1), small?.tryResize(0)]).toEqual([null, "credential", null]);
  large?.resize(0);
  expect(small?.tryResize(10)).toBeNull();
});

it("a share that cannot grow keeps its amount", () => {
  const tally = createTally(SHARES);
  const [one, other] = clientsOf(["a", "::1"], ["a", "::1"]).map((client) => tally.open(client));
  expect([one?.tryResize(4), other?.tryResize(4), one?.tryResize(7)]).toEqual([null, null, "credential"]);
  expect([other?.tryResize(6), other?.tryResize(7)]).toEqual([null, "credential"]);
});
