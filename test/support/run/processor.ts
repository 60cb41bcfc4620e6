/**
 * Limits of processor time hold on every machine: neighbours on the same hardware share its caches and its memory with a virtual machine, so
 * the same work may take three times the processor time.
 */
import { threadCpuUsage } from "node:process";

/** Milliseconds of `referenceWork` on a quiet machine of the kind for which the limits are set. */
const USUAL_MS = 16;

/** A limit of processor time for the present speed of this machine; never below `limit`, which is for the usual speed. */
export function atPresentSpeed(limit: number): number {
  // The first ones also compile.
  const [, , ...timesMs] = Array.from({ length: 7 }, () => processorMs(referenceWork));
  const presentMs = timesMs.reduce((sum, timeMs) => sum + timeMs, 0) / timesMs.length;
  return limit * Math.max(1, presentMs / USUAL_MS);
}

/** Processor time of this thread in milliseconds, independent of other load. */
export function processorMs(work: () => unknown): number {
  const begin = threadCpuUsage();
  work();
  const { user, system } = threadCpuUsage(begin);
  return (user + system) / 1000;
}

/** Allocates, parses, sorts and searches, as most of the measured work does. */
function referenceWork(): number {
  const robots = Array.from({ length: 4000 }, (_, at) => ({ name: `robot-${at}`, labels: { hall: `${at % 7}` }, at }));
  let length = 0;
  for (let turn = 0; turn < 5; turn += 1) {
    const copy = JSON.parse(JSON.stringify(robots)) as typeof robots;
    copy.sort((one, other) => Number(one.labels.hall) - Number(other.labels.hall) || other.at - one.at);
    for (const [name] of JSON.stringify(copy).matchAll(/"robot-\d+"/g)) length += name.length;
  }
  return length;
}
