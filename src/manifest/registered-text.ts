/** What is registered is read by every operator of the organization. */

/** Clouds name regions like `us-east1`, `westeurope` and `eu/fra`; those of a site's own servers are its own words. */
export const REGION_FORM = /^[A-Za-z0-9][A-Za-z0-9._/-]*$/;
export const REGION_EXPECTED = "the code of a region, such as eu-central-1: letters, digits, - _ . and /";

const ADDRESS_WITH_CREDENTIALS = /:\/\/[^/@\s]+@/;

/** Whether a text has an address with a user name or password in it. */
export function holdsCredentials(text: string): boolean {
  return ADDRESS_WITH_CREDENTIALS.test(text);
}
