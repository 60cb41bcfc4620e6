import { hash } from "node:crypto";
import { relative } from "node:path";

import type { TestSpecification } from "vitest/node";
import { BaseSequencer } from "vitest/node";

/** The folders of files that take tens of seconds. */
const LONG = ["test/simulation/", "test/e2e/", "test/integration/console/", "test/conformance/"];

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
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}
