import type { Readable, Writable } from 'node:stream';
import { autocomplete, log, password, select, spinner, text } from '@clack/prompts';
import { PROVIDERS, type Provider, providerSettings } from '../../adapters/model/endpoint/providers.ts';
import { typedCommand } from '../../installation.ts';
import { isCancel } from './questions.ts';

/** Other streams than this process's own. */
export interface Terminal {
  input?: Readable;
  output?: Writable;
}

/** A model that can be chosen, with the settings that choose it. */
export interface ModelChoice {
  label: string;
  env: Record<string, string>;
  kind: string;
}

export interface ModelParts {
  /** names that an endpoint lists; throws with a reason for a person */
  models: (env: Record<string, string>) => Promise<string[]>;
  /** one real completion */
  verify: (
    env: Record<string, string>,
  ) => Promise<{ ok: true; price?: string; learned?: string } | { ok: false; error: string }>;
}

type Settings = Record<string, string>;
/** null: the person pressed Ctrl-C */
type Answer<T> = T | null;

const OTHER = 'another endpoint';
const PRACTICE = 'practice';
const AGAIN = `Choose again, or practice for now: "${typedCommand('setup')}" comes back here.`;

/**
 * Asks until a model has answered, or practice was chosen: the settings that choose it. Null when the person pressed
 * Ctrl-C. Practice stands last and is no setting: it is what answers where nothing is configured, so a key that comes
 * later wins by itself.
 */
export async function askModel(
  found: readonly ModelChoice[],
  parts: ModelParts,
  terminal: Terminal,
): Promise<Answer<Settings>> {
  const options = [
    ...found.map((choice, index) => ({ value: String(index), label: choice.label })),
    ...PROVIDERS.map(({ name }) => ({ value: name, label: `${name} (asks for a key)` })),
    { value: OTHER, label: 'Another endpoint that speaks the OpenAI protocol (asks for its address)' },
    { value: PRACTICE, label: 'Practice (no model, no key: a built-in guide that shows what Fetch can do)' },
  ];
  for (let suggested = options[0]!.value; ; ) {
    const picked = await select({ ...terminal, message: 'Which model?', options, initialValue: suggested });
    if (isCancel(picked)) return null;
    if (picked === PRACTICE) return {};
    const known = found[Number(picked)];
    const endpoint = known
      ? known.env
      : picked === OTHER
        ? await askEndpoint(terminal)
        : await askKey(PROVIDERS.find(({ name }) => name === picked)!, terminal);
    if (endpoint === null) return null;
    const provider = PROVIDERS.find(({ name }) => name === picked);
    const chosen = await answeringModel(endpoint, provider, parts, terminal);
    if (chosen !== 'not this one') return chosen;
    // a key may have been mistyped; a server that does not answer will not do so in a moment
    suggested = known ? PRACTICE : picked;
  }
}

/** The endpoint with a model that has answered; 'not this one' when none did, and why was said. */
async function answeringModel(
  endpoint: Settings,
  provider: Provider | undefined,
  parts: ModelParts,
  terminal: Terminal,
): Promise<Answer<Settings> | 'not this one'> {
  const named = endpoint.AGENT_MODEL ? endpoint : await askName(endpoint, provider, parts, terminal);
  if (named === null || named === 'not this one') return named;
  const wait = spinner(terminal);
  wait.start(`Asking ${named.AGENT_MODEL} for one word, to see that it answers`);
  const result = await parts.verify(named).catch((error: unknown) => ({ ok: false as const, error: reason(error) }));
  if (result.ok) {
    wait.stop(['It answers', result.price, result.learned].filter(Boolean).join('; '));
    return named;
  }
  wait.error('It does not answer');
  log.warn(`${result.error}\n${AGAIN}`, terminal);
  return 'not this one';
}

async function askName(
  endpoint: Settings,
  provider: Provider | undefined,
  parts: ModelParts,
  terminal: Terminal,
): Promise<Answer<Settings> | 'not this one'> {
  const wait = spinner(terminal);
  wait.start('Asking which models there are');
  let names: string[];
  try {
    names = await parts.models(endpoint);
  } catch (error) {
    wait.error('No list of models');
    log.warn(`${reason(error)}\n${AGAIN}`, terminal);
    return 'not this one';
  }
  wait.stop(names.length === 1 ? 'One model' : `${names.length} models`);
  const name = names.length > 0 ? await pickName(names, provider, terminal) : await typeName(terminal);
  return name === null ? null : { ...endpoint, AGENT_MODEL: name };
}

async function pickName(names: string[], provider: Provider | undefined, terminal: Terminal): Promise<Answer<string>> {
  const first =
    provider?.preferred.map((pattern) => names.find((name) => pattern.test(name))).find((name) => name !== undefined) ??
    names[0]!;
  const options = [first, ...names.filter((name) => name !== first)].map((name) => ({ value: name, label: name }));
  const picked = await autocomplete({
    ...terminal,
    message: 'Which of its models? Type to search.',
    options,
    maxItems: 8,
    initialValue: first,
  });
  return isCancel(picked) ? null : picked;
}

async function typeName(terminal: Terminal): Promise<Answer<string>> {
  const name = await text({
    ...terminal,
    message: 'It lists none. The name of the model?',
    validate: (value) => (value?.trim() ? undefined : 'A name, please'),
  });
  return isCancel(name) ? null : name.trim();
}

async function askKey(provider: Provider, terminal: Terminal): Promise<Answer<Settings>> {
  const key = await password({
    ...terminal,
    message: `Your key for ${provider.name} (${provider.keys})`,
    validate: (value) => (value?.trim() ? undefined : 'A key, please, or Ctrl-C'),
  });
  return isCancel(key) ? null : providerSettings(provider, key.trim());
}

async function askEndpoint(terminal: Terminal): Promise<Answer<Settings>> {
  const url = await text({
    ...terminal,
    message: 'Its address? It usually ends with /v1.',
    placeholder: 'https://models.example.com/v1',
    validate: (value) =>
      /^https?:$/.test(URL.parse(value?.trim() ?? '')?.protocol ?? '') ? undefined : 'An http or https address, please',
  });
  if (isCancel(url)) return null;
  const key = await password({ ...terminal, message: 'Its key? Enter for none.' });
  if (isCancel(key)) return null;
  return { OPENAI_BASE_URL: url.trim(), ...(key?.trim() && { OPENAI_API_KEY: key.trim() }) };
}

const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));
