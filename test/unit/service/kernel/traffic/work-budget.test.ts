import { describe, expect, it } from "vitest";

import {
  currentRequester,
  runForNobody,
  runForRequester,
} from "../../../../../src/service/kernel/traffic/requester.ts";
import { createWorkBudget } from "../../../../../src/service/kernel/traffic/work-budget.ts";

/** A budget of one second of work, refilled with 100 ms per second; the test's clock measures the work. */
function scene() {
  let nowMs = 0;
  const budget = createWorkBudget({ per_second: 100, burst: 1000 }, { monotonicMs: () => nowMs });
  const pass = (durationMs: number) => void (nowMs += durationMs);
  const work = (organizationId: string, durationMs: number) => {
    using _work = budget.measure(organizationId)();
    pass(durationMs);
  };
  const retryAfter = (organizationId: string) => budget.refusal(organizationId)?.headers?.["retry-after"] ?? null;
  return { budget, pass, work, retryAfter };
}

describe("an organization that took more time than its budget", () => {
  it("is refused while another is active, and the other is not", () => {
    const { budget, work, retryAfter } = scene();
    work("busy", 2000);
    work("other", 10);
    expect(budget.refusal("busy")).toMatchObject({ status: 429, json: expect.stringContaining('"RateLimited"') });
    // A second over its budget.
    expect([retryAfter("busy"), retryAfter("other")]).toEqual(["10", null]);
  });

  it("is not refused while it is the only one that works, also when others did long ago", () => {
    const { work, pass, retryAfter } = scene();
    work("other", 10);
    pass(10_000);
    work("busy", 2000);
    expect(retryAfter("busy")).toBeNull();
    work("busy", 1);
    expect(retryAfter("busy")).toBeNull();
    work("other", 10);
    work("busy", 1);
    work("busy", 1);
    expect(retryAfter("busy")).toBe("11");
  });

  it("is admitted again after its Retry-After", () => {
    const { work, pass, retryAfter } = scene();
    work("busy", 1500);
    work("other", 10);
    expect(retryAfter("busy")).toBe("5");
    pass(5000);
    expect(retryAfter("busy")).toBeNull();
  });
});

it("work shared by several requesters → counts for none of them", async () => {
  const ids = await runForRequester("one", async () => [
    currentRequester().id,
    await runForNobody(async () => currentRequester().id),
  ]);
  expect(ids).toEqual(["one", ""]);
});
