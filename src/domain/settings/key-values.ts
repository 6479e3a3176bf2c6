/**
 * `name=value` pairs, separated by commas, with percent-encoded values, as settings of OpenTelemetry have them. Null
 * when it is none.
 */
export function keyValuesOf(text: string): Record<string, string> | null {
  const pairs = text
    .split(',')
    .map((pair) => pair.trim())
    .filter(Boolean);
  const found: Record<string, string> = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    const name = pair.slice(0, Math.max(0, at)).trim();
    const value = decode(pair.slice(at + 1).trim());
    if (!/^[\w.-]+$/.test(name) || value === null) return null;
    found[name] = value;
  }
  return found;
}

export const isKeyValues = (text: string): boolean => keyValuesOf(text) !== null;

function decode(value: string): string | null {
  try {
    return decodeURIComponent(value);
  } catch {
    return null;
  }
}
