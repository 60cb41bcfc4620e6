/** Checks of registered texts, which every operator of the organization can read. */

/** Clouds name regions like `us-east1`, `westeurope` and `eu/fra`; sites may choose their own names. */
export const REGION_FORM = /^[A-Za-z0-9][A-Za-z0-9._/-]*$/;
export const REGION_EXPECTED = "the code of a region, such as eu-central-1: letters, digits, - _ . and /";

const ADDRESS_WITH_CREDENTIALS = /:\/\/[^/@\s]+@/;

/** Whether a text contains a URL with a user name or password. */
export function holdsCredentials(text: string): boolean {
  return ADDRESS_WITH_CREDENTIALS.test(text);
}
