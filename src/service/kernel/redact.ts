/** What looks like an API key or a session token, anywhere in a text. */
const CREDENTIALS = /(?:sk_[A-Za-z0-9]{1,32}_|rps_(?:code|console|session)_)[A-Za-z0-9_-]{8,}/g;
/** At the end of a text that was cut: it could be the beginning of a credential, which is recognized by fewer characters. */
const LAST_WORD = /[A-Za-z0-9_-]{1,64}$/;
/** What is looked at of a text that is shown only in part: it may be as long as a body. */
const LOOKED_AT_LENGTH = 1024;

export const REDACTED = "[redacted]";

export function redact(text: string): string {
  return text.replaceAll(CREDENTIALS, REDACTED);
}

/** The beginning of a text, hundreds of characters of it where it is longer, without credentials and parts of them. */
export function redactBeginning(text: string): string {
  const beginning = redact(text.slice(0, LOOKED_AT_LENGTH));
  return text.length > LOOKED_AT_LENGTH ? beginning.replace(LAST_WORD, "") : beginning;
}
