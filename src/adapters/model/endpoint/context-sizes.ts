import { SMALLEST_CONTEXT } from '../../../domain/model/context-size.ts';
import type { Endpoint } from '../model.ts';
import { listedModels } from './client.ts';
import { isLocalEndpoint } from './endpoint.ts';

/** What an endpoint tells of a model's context, in tokens. */
interface ToldContext {
  /** with which the server runs it now */
  running?: number;
  /** that the model has at most */
  most?: number;
}

type Told = Array<ToldContext & { name: string }>;

/** The first answer of a process waits this long for the list. */
const PATIENCE_MS = 2_000;
/** A server may be started anew with another context. */
const FRESH_MS = 5 * 60_000;
/** The name of a model that a server has under any name. */
const ANY = '*';

/** Where lists of models name the size: vLLM and SGLang, llama.cpp, LM Studio. A dot leads into an object. */
const RUNNING = ['max_model_len', 'meta.n_ctx', 'n_ctx', 'loaded_context_length'];
/** OpenRouter (of its first provider, then of the model), Together, Moonshot; Groq; Mistral, LM Studio; llama.cpp. */
const MOST = [
  'top_provider.context_length',
  'context_length',
  'context_window',
  'max_context_length',
  'meta.n_ctx_train',
  'n_ctx_train',
];

/** Other pages of servers that people run themselves, below the base URL without `/v1`. */
const OWN_PAGES: ReadonlyArray<{ path: string; read(page: unknown): Told }> = [
  // llama.cpp: github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
  {
    path: '/props',
    read: (page) => [{ name: ANY, ...only('running', sizeAt(page, ['default_generation_settings.n_ctx'])) }],
  },
  // Ollama, of the models in memory: docs.ollama.com/api/ps
  {
    path: '/api/ps',
    read: (page) =>
      rowsOf(page, 'models').map((row) => ({
        name: String(at(row, 'model')),
        ...only('running', sizeAt(row, ['context_length'])),
      })),
  },
  // LM Studio: lmstudio.ai/docs/developer/rest/endpoints
  { path: '/api/v0/models', read: (page) => rowsOf(page, 'data').map(contextOfRow) },
];

/**
 * The sizes of contexts that one endpoint tells, with those that its refusals taught. An endpoint that tells nothing is
 * no error.
 */
export class ContextSizes {
  private readonly endpoint: Pick<Endpoint, 'baseUrl' | 'apiKey'>;
  private told: Promise<Told> | undefined;
  private readAt = 0;
  /** by model: what was taught, and the size that the endpoint told then */
  private readonly taught = new Map<string, { tokens: number; beside: number | undefined }>();

  constructor(endpoint: Pick<Endpoint, 'baseUrl' | 'apiKey'>) {
    this.endpoint = endpoint;
  }

  /**
   * The size that counts for a model. `learned`: what an earlier refusal taught, perhaps before the server was started
   * anew.
   */
  async of(model: string, learned: number | undefined): Promise<number | undefined> {
    const { running, most } = await this.toldOf(model);
    const taught = this.taught.get(model);
    const counts = running === undefined ? learned : taught?.beside === running ? taught.tokens : undefined;
    const known = [running ?? most, counts].filter((size) => size !== undefined);
    return known.length > 0 ? Math.min(...known) : undefined;
  }

  async teach(model: string, tokens: number): Promise<void> {
    this.taught.set(model, { tokens, beside: (await this.toldOf(model)).running });
  }

  /** What the server tells now, when it has just answered. */
  async now(model: string): Promise<ToldContext> {
    this.begin();
    return await this.toldOf(model);
  }

  private async toldOf(model: string): Promise<ToldContext> {
    if (this.told === undefined) this.begin();
    else if (Date.now() - this.readAt > FRESH_MS) this.refresh();
    const told = (await this.told) ?? [];
    const fitting = told.filter(({ name }) => name === model || name === ANY || `${model}:latest` === name);
    // llama.cpp answers under any name
    return Object.assign({}, ...(fitting.length > 0 ? fitting : told.length === 1 ? told : []));
  }

  private begin(): void {
    this.readAt = Date.now();
    this.told = this.read();
  }

  private refresh(): void {
    this.readAt = Date.now();
    const fresh = this.read();
    void fresh.then(() => {
      this.told = fresh;
    });
  }

  private async read(): Promise<Told> {
    const { baseUrl } = this.endpoint;
    const root = baseUrl.replace(/\/v1$/, '');
    const pages = isLocalEndpoint(baseUrl) ? OWN_PAGES : [];
    const [listed, ...own] = await Promise.all([
      listedModels(this.endpoint, PATIENCE_MS).then(
        (rows) => rows.map(contextOfRow),
        () => [],
      ),
      ...pages.map(({ path, read }) => this.page(`${root}${path}`).then(read, () => [])),
    ]);
    return [...listed!, ...own.flat().filter(({ running, most }) => running !== undefined || most !== undefined)];
  }

  private async page(url: string): Promise<unknown> {
    const { apiKey } = this.endpoint;
    const answer = await fetch(url, {
      headers: apiKey ? { authorization: `Bearer ${apiKey}` } : {},
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return await answer.json();
  }
}

const contextOfRow = (row: unknown): Told[number] => ({
  name: String(at(row, 'id')),
  ...only('running', sizeAt(row, RUNNING)),
  ...only('most', sizeAt(row, MOST)),
});

const only = (name: keyof ToldContext, size: number | undefined): ToldContext =>
  size === undefined ? {} : { [name]: size };

/** The first of these places that holds a size. */
const sizeAt = (row: unknown, places: readonly string[]): number | undefined =>
  places
    .map((place) => at(row, place))
    .find((value) => typeof value === 'number' && Number.isInteger(value) && value >= SMALLEST_CONTEXT) as
    | number
    | undefined;

const rowsOf = (page: unknown, name: string): unknown[] => {
  const rows = at(page, name);
  return Array.isArray(rows) ? rows : [];
};

const at = (value: unknown, place: string): unknown =>
  place.split('.').reduce<unknown>((inner, key) => (inner as Record<string, unknown> | null | undefined)?.[key], value);
