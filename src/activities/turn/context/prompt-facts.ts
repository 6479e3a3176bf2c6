import { LRUCache } from 'lru-cache';
import { parseRemote, webHost } from '../../../adapters/github/remote.ts';
import type { Config } from '../../../config.ts';
import { repositoryMapText } from '../../../domain/chat/context/repository-map.ts';
import { workspaceContext } from '../../../domain/chat/context/workspace-context.ts';
import { MINUTE } from '../../../domain/time.ts';
import { reachOf } from '../../../store/chats/shares.ts';
import { workOfChat } from '../../../store/kennel/tasks/task-news.ts';
import { mapOfChat } from '../../../store/kennel/workspaces/repository-maps.ts';
import { memoriesForPrompt, memoryOwner } from '../../../store/owner/memories.ts';
import { type Db, perDatabase } from '../../../store/postgres/database.ts';

/** What a prompt says besides the dialogue. */
export interface PromptFacts {
  memories: readonly string[];
  /** the active workspace and the latest tasks; null when there is neither */
  work: string | null;
  /** the map of the active workspace's repository; null where its names may not be shown */
  map: string | null;
  /** the repository of the active workspace is on the GitHub server */
  onGitHub: boolean;
  /** one of the latest coding tasks has not ended */
  taskOpen: boolean;
}

/** A turn may wait for a person for days. */
const FRESH_MS = 10 * MINUTE;

const facts = perDatabase(() => new LRUCache<string, PromptFacts>({ max: 500, ttl: FRESH_MS }));

/**
 * Read at the first step of a turn and kept for its other steps: what changes in between stands in the results of its
 * tools, and a prompt whose head stays the same is cheap, because providers keep it. A later step in another process
 * reads it again. `tainted`: the context holds text of others anyway, so names in a repository add no question.
 */
export async function promptFacts(
  db: Db,
  config: Config,
  { turnId, chatId, tainted }: { turnId: string; chatId: string; tainted: boolean },
): Promise<PromptFacts> {
  const known = facts(db).get(turnId);
  if (known) return known;
  const [memories, work, map] = await Promise.all([
    memoriesForPrompt(db, await memoryOwner(db, chatId, config)),
    workOfChat(db, chatId),
    tainted ? mapFor(db, turnId, chatId) : null,
  ]);
  const remote = work?.profile?.git?.remote;
  const found = {
    memories,
    work: work && workspaceContext(work),
    map,
    onGitHub: remote ? parseRemote(remote, webHost(config.GITHUB_API_URL)) !== null : false,
    taskOpen: work?.tasks.some(({ endedAt }) => endedAt === null) ?? false,
  };
  facts(db).set(turnId, found);
  return found;
}

async function mapFor(db: Db, turnId: string, chatId: string): Promise<string | null> {
  const map = await mapOfChat(db, chatId);
  if (!map) return null;
  // for this person, a workspace that is not shared with them does not exist
  const reach = await reachOf(db, { chatId, turnId });
  return reach === null || reach.has(map.workspace) ? repositoryMapText(map) : null;
}
