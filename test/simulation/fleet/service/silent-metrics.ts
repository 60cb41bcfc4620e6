import type { Metrics } from "../../../../src/service/kernel/metrics.ts";

/** Metrics of the process would measure the simulation, with timers of their own. */
export const silentMetrics: Metrics = {
  contentType: "text/plain",
  render: () => Promise.resolve(""),
  answered() {},
  refusedCredential() {},
  limitMet() {},
  loopDelayed() {},
  certificateEnds() {},
  writing: () => () => {},
  taskEnded() {},
  addFigure() {},
};
