/** Organizations: to whom everything belongs. Other resources use what is listed here. */
export {
  ensureOrganization,
  FIRST_ORGANIZATION_NAME,
  isOnlyOrganization,
  lockOrganization,
  organizationOf,
} from "./organizations.ts";
