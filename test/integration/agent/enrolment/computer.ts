/** The identity of a robot, without the rest of the agent, on a disk that a test can make fail. */
import { createIdentity, type RobotIdentity } from "../../../../src/agent/identity/identity.ts";
import { readConfigurationNow } from "../../../../src/agent/configuration/documents.ts";
import { resolveFolders } from "../../../../src/agent/configuration/folders.ts";
import { connect } from "../../../../src/agent/registration/connect.ts";
import { type Files, systemFiles } from "../../../../src/platform/files/files.ts";
import { systemMachine } from "../../../../src/platform/machine.ts";
import { PushedClock } from "../../../support/pushed-clock.ts";
import type { Scene } from "../../../support/service/scene.ts";

export interface Computer {
  readonly clock: PushedClock;
  readonly identity: RobotIdentity;
  /** Stops the identity and closes its connections. */
  stop(): Promise<void>;
}

export async function boot({ robot, service }: Scene, files: Files = systemFiles): Promise<Computer> {
  const clock = new PushedClock();
  const machine = { ...systemMachine({}, process.pid), clock, files };
  const folders = resolveFolders({ config: robot.config_path, stateDir: robot.state_directory }, {});
  const configuration = (await readConfigurationNow({ ...machine, files: systemFiles }, robot.config_path)).reading
    .value;
  if (configuration === null) throw new Error("the configuration is invalid");
  // Bypasses the fault proxy: these tests only make the disk fail.
  const direct = { ...configuration, service: { ...configuration.service, url: service.url } };
  const userId = process.getuid?.() ?? 0;
  const connection = connect(direct, { machine, folders, environment: {}, userId, version: "0.0.0" }, () => null);
  const quiet = () => {};
  const log = { debug: quiet, info: quiet, notice: quiet, warn: quiet, error: quiet };
  const stateDirectory = robot.state_directory;
  const identity = createIdentity({ machine, log, version: "0.0.0", stateDirectory, wake() {} });
  identity.use(direct, connection);
  const readiness = { problem: null, registeredDigest: null };
  identity.report({ robotTypeId: null, digest: null, isSettled: true, readiness });
  await identity.begin();
  const ended = new AbortController();
  const running = identity.run(ended.signal);
  return {
    clock,
    identity,
    async stop() {
      ended.abort();
      await running;
      await connection.close();
    },
  };
}

/** Operations that change a disk. */
const CHANGES = ["createExclusive", "rename", "remove", "syncDirectory", "write", "sync"] as const;
type Change = (typeof CHANGES)[number];

/** The real disk; calls `before` before each change. */
export function watchedFiles(before: (change: Change) => Promise<void>): Files {
  return {
    ...systemFiles,
    async createExclusive(path, mode, owner) {
      await before("createExclusive");
      const file = await systemFiles.createExclusive(path, mode, owner);
      return {
        async write(bytes) {
          await before("write");
          await file.write(bytes);
        },
        async sync() {
          await before("sync");
          await file.sync();
        },
        close: () => file.close(),
      };
    },
    async rename(from, to) {
      await before("rename");
      await systemFiles.rename(from, to);
    },
    async remove(path) {
      await before("remove");
      await systemFiles.remove(path);
    },
    async syncDirectory(path) {
      await before("syncDirectory");
      await systemFiles.syncDirectory(path);
    },
  };
}

/** A disk that loses power after a number of changes: later changes never complete. */
export interface DyingFiles extends Files {
  isDead(): boolean;
  /** Fails the pending changes, so that their handles are closed. */
  release(): void;
}

export function dyingFiles(changes: number): DyingFiles {
  const released = Promise.withResolvers<void>();
  let done = 0;
  const files = watchedFiles(async () => {
    done += 1;
    if (done <= changes) return;
    await released.promise;
    throw Object.assign(new Error("no power"), { code: "EIO" });
  });
  return { ...files, isDead: () => done > changes, release: released.resolve };
}
