/** A word, as names of classes and failures are. */
const WORD = /^[A-Za-z][A-Za-z0-9_]{0,60}$/;

/**
 * What kind of failure it was: the type of a classified one, the code of the system or the database, or the class.
 * Never a text, which may quote anything.
 */
export function failureType(error: unknown): string {
  const { type, code, name } = (error ?? {}) as { type?: unknown; code?: unknown; name?: unknown };
  for (const each of [type, code, name]) if (typeof each === 'string' && WORD.test(each)) return each;
  return 'Error';
}
