import type { Machine } from "../../../src/platform/machine.ts";
import { PLACES } from "../machine/robot-files.ts";
import { plantIn } from "../plants.ts";

/** Planted mistakes of the agent, each a change of its `Machine`. */
export const AGENT_MISTAKES = {
  "the agent does not stat again after reading": (machine) => ({
    ...machine,
    files: plantIn(machine.files, "skip-second-stat"),
  }),
  "the agent does not sync its state": (machine) => ({ ...machine, files: plantIn(machine.files, "forget-fsync") }),
  "the agent takes seconds as minutes": (machine) => ({
    ...machine,
    clock: { ...machine.clock, monotonicMs: () => 60 * machine.clock.monotonicMs() },
  }),
  "the agent's delays have no jitter": (machine) => ({ ...machine, random: { ...machine.random, unit: () => 0 } }),
  "the agent never rereads its key": (machine) => {
    let first: Uint8Array | null = null;
    return {
      ...machine,
      files: {
        ...machine.files,
        async openForReading(path) {
          const file = await machine.files.openForReading(path);
          if (path !== PLACES.key) return file;
          return {
            ...file,
            async read(buffer, position) {
              const count = await file.read(buffer, position);
              if (position > 0) return count;
              first ??= buffer.slice(0, count);
              buffer.set(first);
              return first.byteLength;
            },
          };
        },
      },
    };
  },
  "the agent reads files only in part": (machine) => ({
    ...machine,
    files: {
      ...machine.files,
      async openForReading(path) {
        const file = await machine.files.openForReading(path);
        if (!path.endsWith("limits.yaml")) return file;
        return {
          ...file,
          read: async (buffer, position) => (position > 0 ? 0 : file.read(buffer.subarray(0, 20), position)),
        };
      },
    },
  }),
  "all agents have one name": (machine) => ({
    ...machine,
    identity: { ...machine.identity, hostname: () => "arm-0" },
  }),
} satisfies Record<string, (machine: Machine) => Machine>;

export type AgentMistakeName = keyof typeof AGENT_MISTAKES;
