import type { Hide } from './session.ts';

/** A shorter one may be a word of any text. */
const SHORTEST = 12;

/** Takes these secrets out of a text: servers repeat in errors and results what they were sent. */
export const hiding =
  (secrets: () => Iterable<string>): Hide =>
  (text) =>
    [...secrets()]
      // `Bearer TOKEN` is often repeated without its first word
      .flatMap((secret) => [secret, secret.slice(secret.indexOf(' ') + 1)])
      .filter(({ length }) => length >= SHORTEST)
      .reduce((shown, secret) => shown.replaceAll(secret, '[hidden]'), text);
