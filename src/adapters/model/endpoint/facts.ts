import type { ModelFacts } from '../../../contracts/model.ts';

/** Keeps what was learned of models. `baseUrl` has no credentials. */
export interface FactsStore {
  read(baseUrl: string): Promise<ReadonlyMap<string, ModelFacts>>;
  /** adds to what is known; the newer fact counts */
  add(baseUrl: string, model: string, facts: ModelFacts): Promise<void>;
}

/** The address of an endpoint under which its facts are kept: without name, password and query. */
export function factsAddress(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return `${origin}${pathname.replace(/\/$/, '')}`;
}

/**
 * What this process knows of the models of one endpoint. The store is read once, at the first question. A store that is
 * away is no reason to fail: then this process learns by itself.
 */
export class KnownFacts {
  private readonly baseUrl: string;
  private readonly address: string;
  private readonly store: FactsStore | undefined;
  private readonly own = new Map<string, ModelFacts>();
  private stored: Promise<ReadonlyMap<string, ModelFacts>> | undefined;

  constructor(baseUrl: string, store?: FactsStore) {
    this.baseUrl = baseUrl;
    this.address = factsAddress(baseUrl);
    this.store = store;
  }

  async of(model: string): Promise<ModelFacts> {
    this.stored ??= this.store?.read(this.address).catch(() => {
      this.stored = undefined;
      return new Map();
    });
    const stored = (await this.stored)?.get(model);
    return { ...documentedFacts(this.baseUrl, model), ...stored, ...this.own.get(model) };
  }

  /** Adds facts at once for this process, and for others when the store has them. */
  async add(model: string, facts: ModelFacts): Promise<void> {
    this.own.set(model, { ...this.own.get(model), ...facts });
    await this.store?.add(this.address, model, facts).catch(() => {});
  }
}

interface Row {
  /** host name of the endpoint; unset: any */
  host?: RegExp;
  /** name of the model; unset: any */
  model?: RegExp;
  facts: ModelFacts;
  source: string;
}

/**
 * What is known of endpoints and models before they are asked, from documents; no row was tried on the vendor's own
 * servers. What a refusal teaches counts more.
 */
const ROWS: readonly Row[] = [
  {
    host: /^api\.openai\.com$/,
    facts: { limitName: 'max_completion_tokens', maxTools: 128 },
    source: 'platform.openai.com/docs/api-reference/chat/create: max_tokens is deprecated, at most 128 functions',
  },
  {
    host: /\.(openai\.azure\.com|services\.ai\.azure\.com|cognitiveservices\.azure\.com)$/,
    facts: { limitName: 'max_completion_tokens', maxTools: 128 },
    source: 'learn.microsoft.com/azure/ai-foundry/openai/how-to/reasoning',
  },
  {
    host: /^openrouter\.ai$/,
    model: /^~?anthropic\//,
    facts: { marksCache: true },
    source: 'openrouter.ai/docs/features/prompt-caching',
  },
  {
    host: /^api\.groq\.com$/,
    facts: { maxTools: 128 },
    source: 'console.groq.com/docs/api-reference#chat-create',
  },
  {
    host: /^api\.anthropic\.com$/,
    facts: { wire: 'anthropic' },
    source:
      'docs.anthropic.com/en/api/openai-sdk: the chat completions there are for trying out, without thoughts and cache',
  },
  {
    host: /^generativelanguage\.googleapis\.com$/,
    facts: { wire: 'gemini', skipSignature: true, maxTools: 128 },
    source: 'ai.google.dev/gemini-api/docs/thought-signatures',
  },
  {
    host: /^api\.deepseek\.com$/,
    facts: { maxTools: 128 },
    source: 'api-docs.deepseek.com/api/create-chat-completion',
  },
  {
    host: /^api\.moonshot\.(ai|cn)$/,
    facts: { maxTools: 128, reasoningBack: true },
    source: 'platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model; "" is accepted (Lapis0x0/obsidian-yolo#243)',
  },
  {
    host: /^api\.x\.ai$/,
    facts: { maxTools: 128 },
    source: 'docs.x.ai/docs/guides/function-calling',
  },
  {
    host: /^api\.mistral\.ai$/,
    facts: { alternates: true },
    source:
      'docs.mistral.ai/capabilities/function_calling; a user message must not follow a tool (nearai/ironclaw#1241)',
  },
  {
    model: /(^|[/:])(mi[sx]tral|ministral|magistral|devstral|codestral)/i,
    facts: { alternates: true },
    source: 'chat templates of mistralai on huggingface.co, as llama.cpp, vLLM, LM Studio and Ollama run them',
  },
  {
    model: /minimax-?m[2-9]/i,
    facts: { contentBack: true },
    source: 'platform.minimax.io/docs/guides/text-m2-function-call: <think> must come back in the content, unchanged',
  },
  {
    model: /gemma-?2\b/i,
    facts: { alternates: true, noSystem: true },
    source: 'chat template of google/gemma-2 on huggingface.co: "System role not supported"',
  },
];

/** The facts that documents tell of a model behind this base URL. */
export function documentedFacts(baseUrl: string, model: string): ModelFacts {
  const { hostname } = new URL(baseUrl);
  const fitting = ROWS.filter((row) => (row.host?.test(hostname) ?? true) && (row.model?.test(model) ?? true));
  return Object.assign({}, ...fitting.map(({ facts }) => facts));
}
