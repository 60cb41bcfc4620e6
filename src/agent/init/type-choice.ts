import type { Catalog } from "../../manifest/catalog/catalog.ts";

/** A type of the catalog, with its number in the list. */
interface Offer {
  readonly number: number;
  readonly id: string;
  readonly name: string;
}

/** The types to choose from, one line each. */
export function typeLines(catalog: Catalog): readonly string[] {
  return describeOffers(offersOf(catalog));
}

export type TypeChoice =
  | { readonly kind: "type"; readonly id: string }
  /** Words that match several types, or an unknown number. */
  | { readonly kind: "open"; readonly lines: readonly string[] }
  /** Not in the catalog: perhaps the person's own id. */
  | { readonly kind: "unlisted" };

/** Interprets an answer: the number of a type, its id, or words to search for. */
export function chooseType(answer: string, catalog: Catalog): TypeChoice {
  if (catalog.has(answer)) return { kind: "type", id: answer };
  const offers = offersOf(catalog);
  if (/^\d+$/.test(answer)) {
    const offer = offers[Number(answer) - 1];
    if (offer !== undefined) return { kind: "type", id: offer.id };
    return { kind: "open", lines: [`There is no number ${answer}: 1 to ${offers.length}.`] };
  }
  const words = answer.toLowerCase().split(/\s+/);
  const found = offers.filter(({ id, name }) => {
    const text = `${id} ${name}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const [first, ...more] = found;
  if (first === undefined) return { kind: "unlisted" };
  return more.length === 0 ? { kind: "type", id: first.id } : { kind: "open", lines: describeOffers(found) };
}

function offersOf(catalog: Catalog): readonly Offer[] {
  return [...catalog].map(([id, { display_name: displayName }], index) => ({
    number: index + 1,
    id,
    name: displayName,
  }));
}

function describeOffers(offers: readonly Offer[]): readonly string[] {
  const idWidth = Math.max(...offers.map(({ id }) => id.length));
  return offers.map(({ number, id, name }) => `${String(number).padStart(3)}  ${id.padEnd(idWidth)}  ${name}`);
}
