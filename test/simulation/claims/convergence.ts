import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

import { parse } from "yaml";
import * as z from "zod";

import { loadRegistration } from "../../../src/agent/registration/registration.ts";
import type { RobotSetup } from "../../../src/api/robots.ts";
import { systemError } from "../machine/disk.ts";
import { HOSTNAME, PLACES } from "../machine/robot-files.ts";
import { digestOf } from "../timeline.ts";
import type { World } from "../world.ts";

/** A refused registration is retried after an hour plus a tenth, which is the longest wait. */
const LONGEST_WAIT_MS = 70 * 60_000;
/** The daily question finds a registration that the service lost within a day plus a tenth. */
const LOST_WAIT_MS = 27 * 60 * 60_000;
const SILENCE_MS = 30 * 60_000;
/** Without file events the agent checks every five seconds: sixty checks without a change. */
const POLLED_SILENCE_MS = 5 * 60_000;
/** Time for settling files, setting up watches and the final check. */
const AFTERGLOW_MS = 3 * 60_000;

/** Once all faults end, the service holds the state of the disk, and the agent reports it. */
export async function checkSettled(world: World): Promise<void> {
  if (world.failure !== null) return;
  const limitMs = world.service.hasLost ? LOST_WAIT_MS : LONGEST_WAIT_MS;
  if (!(await world.runUntil(() => isSettled(world) === null, limitMs))) {
    world.fail(`${limitMs / 3_600_000} h after everything was mended: ${isSettled(world) ?? ""}`);
  }
}

/** A settled agent does nothing. */
export async function checkSilence(world: World): Promise<void> {
  if (world.failure !== null) return;
  await world.runFor(AFTERGLOW_MS);
  const { posts, writes, log_lines: logLines, starts } = world.counts;
  const isPolling = world.daemon?.agent?.status().watching?.mode === "polling";
  await world.runFor(isPolling ? POLLED_SILENCE_MS : SILENCE_MS);
  const { counts } = world;
  if (world.failure !== null) return;
  if (counts.posts !== posts) world.fail(`${counts.posts - posts} requests although nothing changed`);
  if (counts.writes !== writes) world.fail(`${counts.writes - writes} writes to the disk although nothing changed`);
  if (counts.log_lines !== logLines) world.fail(`${counts.log_lines - logLines} log lines although nothing changed`);
  if (counts.starts !== starts) world.fail("the daemon did not stay");
  const unsettled = isSettled(world);
  if (unsettled !== null) world.fail(`after settling: ${unsettled}`);
  const load = await loadState(world);
  if (load.kind !== "content") world.fail(`the state on the disk is ${load.kind}`);
  else if (load.content.request.configuration_digest !== digestOnDisk(world))
    world.fail("the state on the disk differs from the registration");
}

/** @returns what is wrong, null if nothing is. */
function isSettled(world: World): string | null {
  const { service, daemon } = world;
  if (service.robots.size !== 1) return `the service holds ${service.robots.size} robots`;
  const status = daemon?.agent?.status();
  if (status === undefined) return "no daemon runs";
  if (status.state !== "registered" || !status.healthy) return `the agent is ${status.state}: ${status.summary}`;
  const held = service.robots.get(HOSTNAME)?.request;
  const wanted = wantedOnDisk(world);
  if (!isDeepStrictEqual(held, wanted)) {
    return `the service holds ${JSON.stringify(held)}, on the disk is ${JSON.stringify(wanted)}, the agent says ${status.summary}`;
  }
  if (status.registration?.configuration_digest !== held?.configuration_digest)
    return "the agent believes another digest";
  if (status.confirmation?.problem !== null) return `not confirmed: ${status.confirmation?.problem ?? ""}`;
  return status.state_problem;
}

/** The registration that the disk requires, computed without the agent's code. */
export function wantedOnDisk(world: World): RobotSetup {
  const { robot } = configurationOf(world.disk.read(PLACES.configuration));
  const { robot_type_id: robotTypeId } = manifestOf(world.disk.read(PLACES.manifest));
  const configurationDigest = digestOnDisk(world) ?? "";
  return {
    name: world.hostname,
    robot_type_id: robotTypeId,
    region: robot.region,
    configuration_digest: configurationDigest,
    site: robot.site,
    labels: robot.labels,
  };
}

function digestOnDisk(world: World): string | null {
  const { configuration_files: configurationFiles } = manifestOf(world.disk.read(PLACES.manifest));
  return digestOf(configurationFiles.map((path) => sha256Of(world.disk.read(path))));
}

const configurationSchema = z.object({
  robot: z.object({ region: z.string(), site: z.string(), labels: z.record(z.string(), z.string()) }),
});
const manifestSchema = z.object({ robot_type_id: z.string(), configuration_files: z.array(z.string()) });

const configurationOf = onceFor((bytes) => configurationSchema.parse(parse(new TextDecoder().decode(bytes))));
const manifestOf = onceFor((bytes) => manifestSchema.parse(parse(new TextDecoder().decode(bytes))));
const sha256Of = onceFor((bytes) => hash("sha256", bytes));

/** Cached, because worlds check after every step. A content never changes: another content is another array. */
function onceFor<T>(derive: (bytes: Uint8Array) => T): (bytes: Uint8Array) => T {
  const known = new WeakMap<Uint8Array, T>();
  return (bytes) => {
    const value = known.get(bytes) ?? derive(bytes);
    known.set(bytes, value);
    return value;
  };
}

/** Reads the state file of the current disk by the agent's own reader. */
function loadState({ disk }: World): ReturnType<typeof loadRegistration> {
  const refuse = () => Promise.reject(systemError("ENOSYS", "check"));
  return loadRegistration(
    {
      stat: refuse,
      linkStat: refuse,
      readLink: refuse,
      async openForReading(path) {
        const { bytes, ...inode } = disk.look(path);
        return {
          stat: async () => ({
            ...inode,
            kind: "file",
            device: 1n,
            inode: 1n,
            sizeBytes: bytes.byteLength,
            groupId: 0,
          }),
          async read(buffer, position) {
            const part = bytes.subarray(position, position + buffer.byteLength);
            buffer.set(part);
            return part.byteLength;
          },
          async close() {},
        };
      },
      createExclusive: refuse,
      rename: refuse,
      remove: refuse,
      syncDirectory: refuse,
      makeDirectory: refuse,
      list: refuse,
      mountsNow: () => "",
    },
    PLACES.state_directory,
  );
}
