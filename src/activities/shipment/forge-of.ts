import type { Forge } from '../../adapters/forge.ts';
import { GitHubAway, GitHubRefusal } from '../../adapters/github/errors.ts';
import { githubForge } from '../../adapters/github/github-forge.ts';
import { parseFullName } from '../../adapters/github/remote.ts';
import type { Config } from '../../config.ts';
import type { Refused, Unseen } from '../../contracts/shipment.ts';
import { findShipment, type Shipment } from '../../store/kennel/shipments/shipments.ts';
import type { Db } from '../../store/postgres/database.ts';
import { fail } from '../failure.ts';

/** The server of a shipment's pull request. Another kind of server is chosen here. */
export function forgeOf(config: Config, { id, repository }: Shipment, signal: AbortSignal): Forge {
  const name = parseFullName(repository);
  if (!name) throw fail('NotFound', `The pull request ${id} has no repository.`);
  return githubForge({ token: config.GH_TOKEN, apiUrl: config.GITHUB_API_URL, signal }, name);
}

export async function shipmentOf(db: Db, id: string): Promise<Shipment> {
  const found = await findShipment(db, id);
  if (!found) throw fail('NotFound', `The pull request ${id} is not in the database.`);
  return found;
}

/** A look that the server does not allow now is an answer, and no failure: it may last for weeks. */
export function unseenAt(error: unknown): Unseen {
  if (error instanceof GitHubAway) return { unseen: 'away', until: null };
  if (!(error instanceof GitHubRefusal)) throw error;
  if (error.opensAt !== undefined) return { unseen: 'limit', until: error.opensAt };
  return { unseen: error.status === null ? 'away' : 'token', until: null };
}

/** A refusal becomes a sentence. A limit and a server that is away are waited for by the retries of the activity. */
export async function refusedAs<T>(act: () => Promise<T>): Promise<T | Refused> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof GitHubAway) throw fail('Internal', error.message);
    if (!(error instanceof GitHubRefusal)) throw error;
    if (error.opensAt === undefined) return { problem: error.message };
    const wait = error.opensAt === null ? LIMIT_MS : Math.max(1_000, error.opensAt - Date.now() + 1_000);
    throw fail('Internal', error.message, { nextRetryDelayMs: wait });
  }
}

/** How long a limit is waited for that names no end. */
const LIMIT_MS = 60_000;
