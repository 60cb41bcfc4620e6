import { expect, test } from "vitest";

import { createCourse, type IdentityOptions } from "../../../../src/agent/identity/course.ts";
import { createHeldCredential } from "../../../../src/agent/identity/credential.ts";
import { createEnrolling } from "../../../../src/agent/identity/enrolling.ts";
import { createIdentityFiles } from "../../../../src/agent/identity/identity-files.ts";
import { createIdentityClient } from "../../../../src/client/identity-client.ts";
import { SteppedClock } from "../../fingerprint/machine.ts";
import { createRobot } from "../robot-in-process.ts";

const STARTED = {
  approval_id: "renr_1",
  user_code: "AAAA-2222",
  poll_token: "rps_poll_0001",
  expires_at: "2100-01-01T00:00:00Z",
  interval_s: 1,
  approval_required: true,
};

/** A robot that enrolls at a service whose polls answer this. */
async function enrollingRobot(poll: () => object) {
  const clock = new SteppedClock();
  const robot = await createRobot(clock);
  const { machine, initial, stateDirectory, connect } = robot;
  robot.respond = ({ url }) => ({ status: 200, body: url.endsWith("/poll") ? poll() : STARTED });
  const files = createIdentityFiles(machine.files, stateDirectory);
  const quiet = () => {};
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  const options: IdentityOptions = {
    machine,
    log,
    version: "0.0.0",
    files,
    stored: { key: null, enrolment: null, credential: null, setAside: [] },
    credentialPath: "",
    service: () => ({
      url: "http://127.0.0.1:1",
      client: createIdentityClient(connect(initial).access),
      heartbeatMs: 30_000,
      bulkKey: async () => null,
      discardBulkKey: async () => {},
    }),
    describeRobot: async () => ({ requested_name: "arm-7", configuration_digest: `sha256:${"0".repeat(64)}` }),
    readiness: () => ({ problem: null, registeredDigest: null }),
    onChange: quiet,
    onEnrolled: quiet,
    onReturn: quiet,
  };
  const course = createCourse(options, false);
  const held = createHeldCredential({ machine, files, log, stored: null });
  const enrolling = createEnrolling(options, course, held);
  /** Does what is due. */
  const advance = async () => {
    clock.step(Math.max(0, course.dueMs - clock.monotonicMs()));
    await enrolling.advance(new AbortController().signal);
  };
  const starts = () => robot.requests.filter(({ url }) => url.endsWith("/enrollment")).length;
  return { clock, course, advance, starts };
}

test.each(["expired", "consumed"])(
  "each code is %s at once → starts at growing distances, at most 40 an hour",
  async (status) => {
    const { clock, course, advance, starts } = await enrollingRobot(() => ({ status }));
    const endMs = clock.monotonicMs() + 3_600_000;
    const details = new Set<string | undefined>();
    while (clock.monotonicMs() < endMs) {
      await advance();
      details.add(course.failure?.detail);
    }
    expect(starts()).toBeGreaterThan(5);
    expect(starts()).toBeLessThanOrEqual(40);
    expect([...details]).toEqual([undefined, "the service ends each code at once"]);
  },
);

test("a code expires after its time → the next one within a second, each time", async () => {
  let pollsLeft = 0;
  const { clock, advance, starts } = await enrollingRobot(() => {
    pollsLeft -= 1;
    return pollsLeft > 0 ? { status: "pending", retry_after_s: 20 } : { status: "expired" };
  });
  for (let codes = 1; codes <= 8; codes += 1) {
    pollsLeft = 4;
    const beforeMs = clock.monotonicMs();
    while (starts() < codes) await advance();
    expect(clock.monotonicMs() - beforeMs).toBeLessThanOrEqual(1000);
    for (let polls = 0; polls < 4; polls += 1) await advance();
  }
});
