/** The account: a summary of an organization, from the lists of other resources. */
import { ACCOUNT_ITEMS_MAXIMUM } from "../../api/account.ts";
import { isoNow } from "../../platform/clock.ts";
import { deploymentView, listCurrentDeployments } from "../deployments/index.ts";
import { isAllowed } from "../kernel/auth/authenticate.ts";
import { worksAt } from "../kernel/auth/credentials.ts";
import { answerValue } from "../kernel/http/answers.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import type { Reader } from "../kernel/store/store.ts";
import { keyView, listWorkingKeys } from "../keys/index.ts";
import { organizationOf } from "./organizations.ts";

/** `GET /v1/me/account`: current deployments and working keys, if the credential may read them, and the number of both. */
export function getAccount({ store, machine }: OperationContext): Handler<null> {
  return async ({ principal }) => {
    const { organizationId } = principal;
    const { reader } = store;
    const now = isoNow(machine.clock);
    const organization = await organizationOf(reader, organizationId);
    const counts = await countBelongings(reader, organizationId, now);
    const deployments = isAllowed(principal, "deployments:read")
      ? await listCurrentDeployments(reader, organizationId, ACCOUNT_ITEMS_MAXIMUM)
      : [];
    const keys = isAllowed(principal, "api-keys:read")
      ? await listWorkingKeys(reader, organizationId, now, ACCOUNT_ITEMS_MAXIMUM)
      : [];
    const account = {
      organization,
      deployments: deployments.map(deploymentView),
      api_keys: keys.map(keyView),
      deployment_count: counts.deployments,
      api_key_count: counts.apiKeys,
    };
    return answerValue(account);
  };
}

/** Numbers of current deployments and of keys that work at `now` (ISO 8601). */
export async function countBelongings(
  reader: Reader,
  organizationId: string,
  now: string,
): Promise<{ readonly deployments: number; readonly apiKeys: number }> {
  const deployments = await reader
    .selectFrom("deployments")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("organization_id", "=", organizationId)
    .where("retired_at", "is", null)
    .executeTakeFirstOrThrow();
  const apiKeys = await reader
    .selectFrom("api_keys")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("organization_id", "=", organizationId)
    .where(worksAt(now))
    .executeTakeFirstOrThrow();
  return { deployments: deployments.count, apiKeys: apiKeys.count };
}
