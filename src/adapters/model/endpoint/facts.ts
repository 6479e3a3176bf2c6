import type { ModelFacts } from '../../../contracts/model.ts';
import { documentedFacts } from './known-facts.ts';

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
