import { hash } from "node:crypto";
import { relative } from "node:path";

import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The folders of files that take tens of seconds, those with the longest first. */
const LONG = ["simulation", "integration/package", "integration/installer", "integration/console", "conformance"].map(
  (folder) => `test/${folder}/`,
);
/** Machines that boot and settle wait more than they work: one of these begins after each three others, so that no processor is idle. */
const WAITING = "test/e2e/";
const BETWEEN = 3;

/**
 * Starts the files that take long first, so that a run does not end with one worker at work and the others idle. Shuffled files
 * (`--sequence.shuffle.tests`) come in an order that the seed decides.
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
