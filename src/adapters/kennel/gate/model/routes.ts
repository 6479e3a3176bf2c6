/** The protocol of a call. `openai` has two forms, which report usage differently. */
export type Protocol = 'anthropic' | 'openai' | 'gemini';
export type Wire = 'anthropic' | 'chat' | 'responses' | 'gemini';

export interface Route {
  protocol: Protocol;
  /** below the base URL of the protocol, with the rest of the query */
  path: string;
  /** how usage is reported; null when nothing is charged */
  wire: Wire | null;
  /** the model, when the path names it */
  model: string | null;
}

// a segment begins with a letter or digit, so it cannot be `..`, empty or encoded
const NAME = '[A-Za-z0-9][A-Za-z0-9._:@-]*';
// here a colon separates the name from the operation
const GEMINI_NAME = '[A-Za-z0-9][A-Za-z0-9._-]*';
const GEMINI = '/v1(?:beta|alpha)?/models';

interface Rule {
  protocol: Protocol;
  method: 'GET' | 'POST';
  path: RegExp;
  wire: Wire | null;
}

/**
 * All that coding agents need of the three services, without files, batches, fine-tuning, stored answers and accounts.
 */
const RULES: readonly Rule[] = [
  { protocol: 'anthropic', method: 'POST', path: /^\/v1\/messages$/, wire: 'anthropic' },
  { protocol: 'anthropic', method: 'POST', path: /^\/v1\/messages\/count_tokens$/, wire: null },
  { protocol: 'anthropic', method: 'GET', path: new RegExp(`^/v1/models(?:/${NAME})?$`), wire: null },
  { protocol: 'openai', method: 'POST', path: /^\/chat\/completions$/, wire: 'chat' },
  { protocol: 'openai', method: 'POST', path: /^\/responses(?:\/compact)?$/, wire: 'responses' },
  { protocol: 'openai', method: 'POST', path: /^\/responses\/input_tokens$/, wire: null },
  { protocol: 'openai', method: 'GET', path: new RegExp(`^/models(?:/${NAME}){0,2}$`), wire: null },
  {
    protocol: 'gemini',
    method: 'POST',
    path: new RegExp(`^${GEMINI}/(?<model>${GEMINI_NAME}):(?:streamG|g)enerateContent$`),
    wire: 'gemini',
  },
  { protocol: 'gemini', method: 'POST', path: new RegExp(`^${GEMINI}/${GEMINI_NAME}:countTokens$`), wire: null },
  { protocol: 'gemini', method: 'GET', path: new RegExp(`^${GEMINI}(?:/${GEMINI_NAME})?$`), wire: null },
];

const PREFIXES: Record<Protocol, string> = { anthropic: '/anthropic', openai: '/openai/v1', gemini: '/gemini' };

/** Parameters of a query that carry a credential. */
const CREDENTIALS = ['key', 'access_token', 'api_key', 'api-key', '$.xgafv'];

/** The protocol of a path, allowed or not; null for none. Errors have its form. */
export function protocolOf(url: string): Protocol | null {
  const path = url.split('?', 1)[0]!;
  for (const [protocol, prefix] of Object.entries(PREFIXES))
    if (path === prefix || path.startsWith(`${prefix}/`)) return protocol as Protocol;
  return null;
}

/** Where a container's request goes; null for everything that is not on the list. */
export function routeOf(method: string | undefined, url: string): Route | null {
  const protocol = protocolOf(url);
  if (!protocol) return null;
  const at = url.indexOf('?');
  const path = (at < 0 ? url : url.slice(0, at)).slice(PREFIXES[protocol].length);
  const query = new URLSearchParams(at < 0 ? '' : url.slice(at + 1));
  for (const rule of RULES) {
    if (rule.protocol !== protocol || rule.method !== method) continue;
    const match = rule.path.exec(path);
    if (!match) continue;
    for (const name of CREDENTIALS) query.delete(name);
    return {
      protocol,
      path: query.size ? `${path}?${query}` : path,
      wire: rule.wire,
      model: match.groups?.model ?? null,
    };
  }
  return null;
}
