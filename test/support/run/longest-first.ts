import { hash } from "node:crypto";
import { relative } from "node:path";

import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Folders of slow test files (tens of seconds), the slowest first. */
const LONG = [
  "integration/lab",
  "simulation",
  "integration/package",
  "integration/installer",
  "integration/console",
  "conformance",
].map((folder) => `test/${folder}/`);
/**
 * Booting machines and settling files wait more than they compute: one of these starts after every three others, to keep the processors
 * busy.
 */
const WAITING = "test/e2e/";
const BETWEEN = 3;

/**
 * Starts slow files first, so that a run does not end with a single busy worker. With `--sequence.shuffle.tests` the seed determines the
 * order.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root, sequence } = this.ctx.config;
    const name = ({ moduleId }: TestSpecification) => relative(root, moduleId);
    if (sequence.shuffle) {
      const draw = (file: TestSpecification) => hash("sha256", `${sequence.seed} ${name(file)}`);
      return files.toSorted((one, other) => (draw(one) < draw(other) ? -1 : 1));
    }
    const rank = (file: TestSpecification) => {
      const folder = LONG.findIndex((each) => name(file).startsWith(each));
      return folder === -1 ? LONG.length : folder;
    };
    const sorted = (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
    const waiting = sorted.filter((file) => name(file).startsWith(WAITING));
    const working = sorted.filter((file) => !waiting.includes(file));
    const spread: TestSpecification[] = [];
    while (working.length > 0) spread.push(...working.splice(0, BETWEEN), ...waiting.splice(0, 1));
    return [...spread, ...waiting];
  }
}
