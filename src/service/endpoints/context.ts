import type { OperationContext } from "../kernel/operation.ts";

/** What of the service readiness works with. */
export type ReadinessContext = Pick<OperationContext, "store" | "newId" | "machine" | "nudge">;
