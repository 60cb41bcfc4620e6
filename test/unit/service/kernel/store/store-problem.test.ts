import { expect, test } from "vitest";

import { storeProblem } from "../../../../../src/service/kernel/store/store-problem.ts";

/** In the shipped unit with a drop-in ReadWritePaths=/srv/allowed. */
const TABLE = `366 300 8:1 / / ro,relatime - ext4 /dev/sda1 rw
385 366 8:1 /srv/allowed /srv/allowed rw,relatime - ext4 /dev/sda1 rw
386 366 7:0 / /srv/image ro - squashfs /dev/loop0 ro
`;

test.each([
  ["/srv/robots", "the unit lets the service only read there", "ReadWritePaths=/srv/robots"],
  ["/srv/allowed/data", "the disk is read-only", "make its disk writable"],
  ["/srv/image/data", "the disk is read-only", "make its disk writable"],
])("storeProblem: data in %s, which is read-only → %s", (data, what, fix) => {
  const error = Object.assign(new Error("EROFS: read-only file system"), { code: "EROFS" });
  expect(storeProblem(error, { kind: "sqlite", dataDirectory: data }, TABLE)).toMatchObject({
    what: `the data directory cannot be used: ${what}`,
    where: data,
    fix: expect.stringContaining(fix),
  });
});
