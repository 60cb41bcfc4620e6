import type { Metrics } from "../../../../src/service/kernel/metrics.ts";

/** No process metrics: they would measure the simulation, and have their own timers. */
export const silentMetrics: Metrics = {
  contentType: "text/plain",
  render: () => Promise.resolve(""),
  answered() {},
  limitMet() {},
  certificateEnds() {},
  writing: () => () => {},
  taskEnded() {},
  addFigure() {},
};
