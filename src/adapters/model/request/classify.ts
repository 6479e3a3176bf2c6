import type { FailureType } from '../../../domain/failures.ts';
import { cut } from '../../../domain/text/storable.ts';
import { ModelError } from '../model.ts';
import { waitOf } from './reset-time.ts';

/** How providers say "the prompt does not fit". Each line was seen from the provider named. */
const OVERFLOW: RegExp[] = [
  /context[_ -]?length[_ -]?exceeded/i, // OpenAI (code), Azure, DeepSeek
  /maximum context length/i, // OpenAI, vLLM, OpenRouter, DeepSeek
  /exceed(s|ed|ing)? (the )?(model'?s? )?(maximum |max |available )?context/i, // OpenAI, llama.cpp, LiteLLM
  /context (window|size|length)[^.]{0,40}(exceed|too small|limit|overflow)/i, // MiniMax, llama.cpp
  /greater than the context length|context length of only/i, // LM Studio
  /上下文|超长/, // Z.AI, Qwen
  /(prompt|input|request|conversation)( is| was)? too long/i, // Anthropic, Bedrock, vLLM
  /input token count.{0,40}exceeds/i, // Gemini
  /input length.{0,60}exceed/i, // Anthropic, Qwen, SGLang
  /range of input length should be/i, // Qwen (DashScope)
  /maximum prompt length/i, // xAI
  /reduce (the length|your prompt|the number of (input )?tokens)/i, // Groq, OpenAI
  /(token limit exceeded|exceeded model token limit|too many tokens|tokens? exceed)/i, // Kimi, Cohere, Mistral
  /prompt tokens? (exceed|limit)/i, // GitHub Copilot, Z.AI
  /too large for model with \d+ maximum context/i, // Mistral
  /request too large for /i, // Groq: larger than what a minute allows, so it never gets through
  /must have less than \d+ tokens|tokens \+ `?max_new_tokens/i, // text-generation-inference
  // Anthropic, llama.cpp, GitHub (codes)
  /request_too_large|exceed_context_size_error|model_max_prompt_tokens_exceeded/i,
];
/**
 * The same in the words of others (Z.AI, MiniMax, vLLM, gateways): what is sent is longer than what fits. A figure per
 * minute, of an answer, or of something else than text is another limit.
 */
const exceeds = (sentence: string): boolean =>
  /\b(prompt|inputs?|messages?|tokens?|request|sequence|conversation)\b/i.test(sentence) &&
  /\bexceed|\b(longer|larger|greater|more) than\b|\btoo (long|large)\b/i.test(sentence) &&
  /\b(max\w*|limit|allowed|context|n_ctx|window)\b/i.test(sentence) &&
  /\btokens?\b|\bcontext\b|\bn_ctx\b|\b(max|prompt|input|sequence|model) length\b/i.test(sentence) &&
  !OTHER_LIMITS.test(sentence);
const OTHER_LIMITS =
  /\bper\b|\b[tr]p[mdh]\b|\b(rate|daily|quota|credits?|balance|budget)\b|completion|output|\bmax_tokens\b|\b(images?|tools?|functions?|files?|bytes|[mk]b|stop|temperature|top_p|top_k)\b/i;
export const isContextOverflow = (text: string): boolean =>
  OVERFLOW.some((pattern) => pattern.test(text)) || text.split('.').some(exceeds);

/** Credit or a plan is missing, so waiting does not help. */
const NO_CREDIT =
  /insufficient_quota|credit balance is too low|insufficient (balance|credits|funds)|credit_balance_exhausted|usage_limit_exceeded|spend_limit_(exceeded|reached)|specified API usage limits|billing_error|usage_not_included|limit: 0(?![\d.])/i;
/** OpenAI says this of an empty account. Gemini also says it of a full minute, and then names a time. */
const QUOTA = /exceeded your current quota/i;
const MODERATED = /moderation|flagged|content[_ ]policy/i;

/** Removes keys and credentials; `secrets` are replaced everywhere. */
export function redact(text: string, secrets: readonly string[] = []): string {
  let clean = text;
  for (const secret of secrets) if (secret.length >= 4) clean = clean.replaceAll(secret, '[redacted]');
  return clean
    .replace(/\b(sk|pk|rk|gsk|xai|key)-[\w*.-]{6,}/g, '[redacted]')
    .replace(/\bBearer\s+[^\s"',]+/gi, 'Bearer [redacted]')
    .replace(/(\/\/)[^\s/@]+@/g, '$1[redacted]@')
    .replace(/([?&](?:api[_-]?key|key|token|access_token)=)[^&\s"']+/gi, '$1[redacted]');
}

interface Headers {
  get(name: string): string | null;
}

/** The known parts of an error from any source: the SDK, fetch, or a provider's body. */
interface Shape {
  name?: string;
  message?: unknown;
  status?: unknown;
  headers?: Headers;
  error?: unknown;
  code?: unknown;
  type?: unknown;
  cause?: unknown;
}

interface ClassifyOptions {
  /** `stream`: the answer had begun, so a lost connection broke it off */
  phase?: 'request' | 'stream';
  /** the key in use; never part of a message */
  secrets?: readonly string[];
  /** epoch milliseconds; for Retry-After dates */
  now?: number;
}

/** Turns any error of a model call into a `ModelError`. Pure. */
export function classify(thrown: unknown, options: ClassifyOptions = {}): ModelError {
  if (thrown instanceof ModelError) return thrown;
  const error = (typeof thrown === 'object' && thrown !== null ? thrown : { message: String(thrown) }) as Shape;
  const body = errorObject(error.error);
  const code = [error.code, property(body, 'code'), property(body, 'type'), error.type]
    .filter((part) => part !== undefined && part !== null)
    .join(' ');
  // an error inside a stream has no HTTP status; most providers put one into its code
  const status =
    httpStatus(error.status) ??
    httpStatus(property(body, 'code')) ??
    httpStatus(error.code) ??
    httpStatus(property(body, 'status')) ??
    statusOf(code);
  const text = messageOf(error, body);
  const say = (prefix: string) => cut(redact(`${prefix}: ${text}`, options.secrets), 600);
  const told = { status, param: word(property(body, 'param')), code: word(property(body, 'code')) };
  const make = (type: FailureType, prefix: string, wait?: number) =>
    new ModelError(type, say(prefix), { ...told, retryAfterMs: wait });

  if (status === undefined) {
    if (body !== undefined && body !== null) {
      if (isContextOverflow(`${code} ${text}`)) return make('ContextOverflow', 'Invalid request');
      if (NO_CREDIT.test(`${code} ${text}`)) return make('ModelPaymentRequired', 'LLM error');
      return make(options.phase === 'stream' ? 'ModelStreamBroken' : 'ModelUnavailable', 'LLM error');
    }
    const reason = networkReason(error);
    if (reason) {
      const type = options.phase === 'stream' ? 'ModelStreamBroken' : 'ModelUnavailable';
      const lead = options.phase === 'stream' ? 'Network error: Connection lost' : 'Network error: Connection failed';
      return new ModelError(type, cut(redact(`${lead}: ${reason}`, options.secrets), 600));
    }
    if (thrown instanceof SyntaxError) return make('ModelStreamBroken', 'LLM error: unreadable answer');
    return new ModelError('Internal', cut(redact(text, options.secrets), 600), { cause: thrown });
  }

  const wait = waitOf({ headers: error.headers, error: body, text }, options.now);
  const [type, prefix] = byStatus(status, `${code} ${details(body)} ${text}`, wait);
  // the endpoint knows best whether a retry helps; a wrong key, an empty account and an overflow keep their type
  const should = error.headers?.get('x-should-retry');
  if (should === 'true' && (type === 'ModelRejected' || type === 'ModelNotFound'))
    return make('ModelUnavailable', prefix, wait);
  // "false" means clients that retry within a second; if a time is given too, it can be waited for
  if (should === 'false' && wait === undefined && (type === 'ModelRateLimited' || type === 'ModelUnavailable'))
    return make('ModelRejected', prefix);
  return make(type, prefix, type === 'ModelRateLimited' || type === 'ModelUnavailable' ? wait : undefined);
}

function byStatus(status: number, text: string, wait: number | undefined): [FailureType, string] {
  if (status === 401) return ['ModelUnauthorized', 'Authentication failed'];
  if (status === 403) return [MODERATED.test(text) ? 'ModelRejected' : 'ModelUnauthorized', 'Authorization failed'];
  // OpenRouter: money reserved by running requests is free again at the time that it names
  if (status === 402) return [wait === undefined ? 'ModelPaymentRequired' : 'ModelRateLimited', 'LLM error: HTTP 402'];
  if (status === 404) return ['ModelNotFound', 'Invalid request (404)'];
  // for an empty account OpenAI answers 429 and Anthropic 400; waiting does not help
  if (status === 429)
    return [
      NO_CREDIT.test(text) || (wait === undefined && QUOTA.test(text)) ? 'ModelPaymentRequired' : 'ModelRateLimited',
      'Rate limit exceeded',
    ];
  if (status === 408 || status === 409) return ['ModelUnavailable', `LLM error: HTTP ${status}`];
  // LM Studio and some proxies report an overflow as a 500
  if (isContextOverflow(text))
    return ['ContextOverflow', status >= 500 ? `Server error (${status})` : `Invalid request (${status})`];
  if (status >= 500) return ['ModelUnavailable', `Server error (${status})`];
  if (status >= 400)
    return [NO_CREDIT.test(text) ? 'ModelPaymentRequired' : 'ModelRejected', `Invalid request (${status})`];
  return ['ModelUnavailable', `LLM error: HTTP ${status}`];
}

/** Anthropic puts the code of a spending limit one level deeper. */
const details = (body: unknown): string => String(property(property(body, 'details'), 'error_code') ?? '');

const property = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;

function httpStatus(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number >= 300 && number <= 599 ? number : undefined;
}

const word = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;

/**
 * The status that a code in words means, for errors inside a stream. What a server says of itself is no status: the
 * answer is asked for again.
 */
function statusOf(code: string): number | undefined {
  if (/rate_?limit|resource_exhausted|too_many_requests|throttl/i.test(code)) return 429;
  if (/invalid_api_key|authentication|unauthenticated|unauthorized/i.test(code)) return 401;
  return /invalid_request|invalid_argument|bad_?request|data_inspection|content_filter|content_policy/i.test(code)
    ? 400
    : undefined;
}

/** The provider's sentence, and the upstream's text below a proxy's generic one. */
function messageOf(error: Shape, body: Record<string, unknown> | undefined): string {
  const own = typeof error.message === 'string' ? error.message.replace(/^\d{3} /, '') : '';
  const raw = property(property(body, 'metadata'), 'raw');
  const upstream = typeof raw === 'string' ? ` (${cut(raw, 300)})` : '';
  const text = `${word(body?.message) ?? own}${upstream}`.replace(/\s+/g, ' ').trim();
  return text === '' || text === 'status code (no body)' ? 'no details given' : text;
}

/** Where providers and proxies put their sentence. */
const SENTENCES = [
  'message',
  'msg',
  'detail',
  'error',
  'errors',
  'error_message',
  'errorMessage',
  'error_msg',
  'error_description',
  'reason',
  'title',
];

/**
 * The error that the body of a refusal reports, with its sentence as `message`: an object, a list of objects (Gemini),
 * one inside of another (gateways), FastAPI's
 * `detail`, JSON in a text, a page of HTML, plain text. Undefined for an empty body.
 */
export function errorObject(body: unknown, depth = 0): Record<string, unknown> | undefined {
  if (depth > 5 || body === undefined || body === null) return undefined;
  if (typeof body === 'string') return errorOfText(body, depth);
  if (Array.isArray(body)) return joinedErrors(body.map((each) => errorObject(each, depth + 1)));
  if (typeof body !== 'object') return undefined;
  const own = body as Record<string, unknown>;
  const inner = property(own, 'error');
  const nested = typeof inner === 'object' ? errorObject(inner, depth + 1) : undefined;
  // fields beside the error, such as a request's id, are of no use; a status may be
  if (nested) return { ...pick(own, ['code', 'type', 'status', 'param']), ...nested };
  const told = SENTENCES.map((name) => sentenceOf(own[name], depth)).find((each) => each !== undefined);
  return told ? { ...own, ...told } : own;
}

function sentenceOf(value: unknown, depth: number): Record<string, unknown> | undefined {
  const error = errorObject(value, depth + 1);
  return word(error?.message) ? error : undefined;
}

function errorOfText(text: string, depth: number): Record<string, unknown> | undefined {
  const said = text.trim();
  if (said === '') return undefined;
  if (/^[{[]/.test(said)) {
    try {
      const inside = errorObject(JSON.parse(said), depth + 1);
      if (inside?.message !== undefined) return inside;
    } catch {}
  }
  if (!/^<(?:!doctype|html|head|body|\?xml|h1|center)/i.test(said)) return { message: said };
  return { message: /<(?:title|h1)[^<>]*>([^<]*)</i.exec(said)?.[1]?.trim() || 'a page of HTML' };
}

/** FastAPI lists what is wrong with each field: `loc` names it. */
function joinedErrors(all: Array<Record<string, unknown> | undefined>): Record<string, unknown> | undefined {
  const known = all.filter((each) => each !== undefined);
  const told = known.flatMap(({ message, loc }) =>
    word(message) ? [Array.isArray(loc) ? `${loc.join('.')}: ${message}` : String(message)] : [],
  );
  return known[0] && { ...known[0], ...(told.length > 0 && { message: told.join('; ') }) };
}

const pick = (object: Record<string, unknown>, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(names.filter((name) => object[name] !== undefined).map((name) => [name, object[name]]));

/** Only the innermost cause is useful: "fetch failed" says nothing. */
function networkReason(error: Shape): string | undefined {
  let reason: string | undefined;
  let seen: unknown = error;
  for (let depth = 0; depth < 6 && typeof seen === 'object' && seen !== null; depth++) {
    const { name, code, message, cause } = seen as Shape;
    if (typeof code === 'string' && /^(E[A-Z_]{3,}|UND_ERR_\w+|(?=\w+$)(CERT_|\w+?_CERT).*)$/.test(code))
      reason = message ? String(message) : code;
    else if (
      typeof message === 'string' &&
      /fetch failed|terminated|connection error|timed? ?out|socket hang up|premature close|network/i.test(message)
    )
      reason ??= message;
    else if (name === 'TimeoutError') reason ??= 'timed out';
    const inner: unknown = (seen as { errors?: unknown[] }).errors?.[0];
    seen = cause ?? inner;
  }
  return reason;
}
