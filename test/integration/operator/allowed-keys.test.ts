import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterEach, beforeEach, expect, it } from "vitest";

import { keyFingerprint } from "../../../src/platform/ed25519.ts";
import { steady } from "../../support/operator/enrolling.ts";
import { endedWith, openSiteAtOneTime, type OperatorSite } from "../../support/operator/operator.ts";
import { RobotComputer } from "../../support/service/robot-computer.ts";

let site: OperatorSite;
beforeEach(async () => {
  site = await openSiteAtOneTime();
});
afterEach(() => site[Symbol.asyncDispose]());

const newComputer = () => new RobotComputer(() => site.urls.whole);

async function writeKeys(text: string): Promise<string> {
  const path = join(site.home, "batch.txt");
  await writeFile(path, text);
  return path;
}

it("allow: listed computers enroll without an approval; allowed: who added each key, and when it was used", async () => {
  const [first, second] = [newComputer(), newComputer()];
  const path = await writeKeys(
    `# batch 7\r\n\r\n  ${first.publicKey}  # arm-1\r\n${keyFingerprint(second.publicKey)}\r\n`,
  );
  const allowed = await site.run("robots", "allow", "--keys", path, "--expires", "14d");
  expect([allowed.exitCode, steady(allowed.out)]).toEqual([
    0,
    "2 computers with these keys enroll without an approval, once, until DATE.\n",
  ]);
  const started = await first.start({ requested_name: "arm-1" });
  expect([started.approval_required, (await first.poll(started)).status]).toEqual([false, "approved"]);
  const { out } = await site.run("robots", "allowed");
  expect(steady(out).replaceAll(/akey_\w{26}/g, "akey_ID")).toMatchInlineSnapshot(`
    "KEY                                                 STATE                      ROBOT  ALLOWED BY  ALLOWED               EXPIRES               ID
    SHA256:FINGERPRINT  used TIME  arm-1  bootstrap   TIME  TIME  akey_ID
    SHA256:FINGERPRINT  unused                            bootstrap   TIME  TIME  akey_ID
    "
  `);
  const { items } = await site.json("robots", "allowed");
  expect(items[0]).toMatchObject({ key_fingerprint: keyFingerprint(first.publicKey), robot: "arm-1" });
});

it("allow: lines without a valid key → a finding for each at file:line:column, and no request", async () => {
  const good = newComputer().publicKey;
  const path = await writeKeys(`${good}\n  not-a-key # why\n# fine\nssh-ed25519 AAAA\n`);
  const { exitCode, err } = await site.run("robots", "allow", "--keys", path);
  expect(exitCode).toBe(3);
  expect(err).toContain(`${path}:2:3: `);
  expect(err).toContain(`${path}:4:1: `);
  expect(err).not.toContain(`${path}:1:`);
  expect(
    (await site.json("robots", "allowed")).items.map((item: { key_fingerprint: string }) => item.key_fingerprint),
  ).not.toContain(keyFingerprint(good));
  const { findings } = await site.json("robots", "allow", "--keys", path);
  expect(findings).toMatchObject([
    { file: path, line: 2, column: 3 },
    { file: path, line: 4, column: 1 },
  ]);
  expect(await site.run("robots", "allow", "--keys", await writeKeys("# none\n"))).toMatchObject(
    endedWith(3, "there is no key in the file"),
  );
  expect(await site.run("robots", "allow", "--keys", join(site.home, "none"))).toMatchObject(
    endedWith(3, "there is no such file"),
  );
});

it("allow: more keys than fit in one request → all are sent; a key that the service refuses → a finding at its line", async () => {
  const keys = Array.from({ length: 1001 }, (_, index) => Buffer.alloc(32, `key ${index}`).toString("base64url"));
  // The last line repeats the first key, which is in another request.
  const path = await writeKeys([...keys, keyFingerprint(keys[0] ?? "")].join("\n"));
  const dry = await site.run("robots", "allow", "--keys", path, "--dry-run");
  expect(dry.err).toBe("This is the first of 2 requests; each has 1000 keys at most.\nNothing was sent.\n");
  const { out } = await site.run("robots", "allow", "--keys", path);
  expect(out).toContain("1001 computers");
  // The last letter sets bits that must be zero; only the service decodes the key and notices.
  const odd = `${"A".repeat(42)}B`;
  const refused = await site.run("robots", "allow", "--keys", await writeKeys(`${keys[0]}\n${odd}\n`));
  expect(refused).toMatchObject(endedWith(6, `batch.txt:2:1 "${odd}"`));
  expect(await site.run("robots", "allow", "--keys", await writeKeys(keys[0] ?? ""), "--expires", "91d")).toMatchObject(
    endedWith(6, "error: --expires"),
  );
});

it("disallow: asks once, and names the fingerprint", async () => {
  const computer = newComputer();
  const fingerprint = keyFingerprint(computer.publicKey);
  await site.run("robots", "allow", "--keys", await writeKeys(computer.publicKey));
  const declined = await site.runWith({ answers: ["n"] }, "robots", "disallow", fingerprint);
  expect([declined.exitCode, steady(declined.err)]).toEqual([
    1,
    expect.stringContaining("This takes SHA256:FINGERPRINT (unused) off the list."),
  ]);
  const removed = await site.runWith({ answers: ["y"] }, "robots", "disallow", fingerprint);
  expect([removed.exitCode, removed.out]).toEqual([0, `${fingerprint} is allowed no more.\n`]);
  expect((await computer.start({ requested_name: "arm-9" })).approval_required).toBe(true);
  expect(await site.run("robots", "disallow", fingerprint)).toMatchObject(endedWith(6, "no allowed key is"));
});
