import type { Transaction } from "../kernel/store/store.ts";

/** Ends the enrolment that an installation came from: its credential was used, so no poll may answer with another one. */
export async function consumeEnrolment(transaction: Transaction, installationId: string): Promise<void> {
  await transaction
    .updateTable("enrolments")
    .set({ status: "consumed" })
    .where("installation_id", "=", installationId)
    .where("status", "=", "approved")
    .execute();
}
