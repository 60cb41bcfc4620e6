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

/** A refused registration is tried again after an hour and a tenth; that is the longest that anybody has to wait. */
const LONGEST_WAIT_MS = 70 * 60_000;
/** What the service lost by itself is found within a day and a tenth. */
const LOST_WAIT_MS = 27 * 60 * 60_000;
const SILENCE_MS = 30 * 60_000;
/** Where the agent has to look for itself, it does so every five seconds: sixty looks that find nothing. */
const POLLED_SILENCE_MS = 5 * 60_000;
/** Files at rest become trusted, watches are set up, a last look is taken. */
const AFTERGLOW_MS = 3 * 60_000;

/** With all faults gone, the service comes to hold exactly what is on the disk, and the agent knows it. */
export async function checkSettled(world: World): Promise<void> {
  if (world.failure !== null) return;
  const limitMs = world.service.hasLost ? LOST_WAIT_MS : LONGEST_WAIT_MS;
  if (!(await world.runUntil(() => isSettled(world) === null, limitMs))) {
    world.fail(`${limitMs / 3_600_000} h after everything was mended: ${isSettled(world) ?? ""}`);
  }
}

/** Once settled, nothing happens any more. */
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
  if (load.kind !== "registration") world.fail(`the state on the disk is ${load.kind}`);
  else if (load.registration.request.configuration_digest !== digestOnDisk(world))
    world.fail("the state on the disk is another one");
}

/** @returns what is wrong, null where nothing is. */
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

/** What the robot should be registered as, read off the disk without the agent's code. */
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

/** Worlds ask after every step, and another content of a file is another array. */
function onceFor<T>(derive: (bytes: Uint8Array) => T): (bytes: Uint8Array) => T {
  const known = new WeakMap<Uint8Array, T>();
  return (bytes) => {
    const value = known.get(bytes) ?? derive(bytes);
    known.set(bytes, value);
    return value;
  };
}

/** The state file by the agent's own reader, of the disk as it is at this moment. */
function loadState({ disk }: World): ReturnType<typeof loadRegistration> {
  const refuse = () => Promise.reject(systemError("ENOSYS", "check"));
  return loadRegistration(
    {
      stat: refuse,
      linkStat: refuse,
      statNow() {
        throw systemError("ENOSYS", "check");
      },
      linkStatNow() {
        throw systemError("ENOSYS", "check");
      },
      directoryId: refuse,
      directoryIdNow() {
        throw systemError("ENOSYS", "check");
      },
      readLink: refuse,
      readLinkNow() {
        throw systemError("ENOSYS", "check");
      },
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
