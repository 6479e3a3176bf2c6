import { sql } from 'kysely';
import type { RepositoryMap } from '../../../contracts/workspace-ops.ts';
import { type Db, json } from '../../postgres/database.ts';

/** While somebody works in a workspace, its container is theirs. */
const QUIET_SECONDS = 15;

interface DueMap {
  workspace: string;
  path: string;
  /** the commit that was seen last */
  head: string;
}

/** A workspace that a chat works in, whose map is of another commit than the one that was seen last. */
export async function dueMap(db: Db, host: string, except: ReadonlySet<string>): Promise<DueMap | null> {
  const { rows } = await sql<DueMap>`
    select workspaces.name as workspace, workspaces.path, profile->'git'->>'head' as head from workspaces
    left join repository_maps maps on maps.host = workspaces.host and maps.workspace = workspaces.name
    where workspaces.host = ${host} and profile->'git'->>'head' is distinct from maps.head and profile->'git'->>'head' is not null
      and workspaces.seen_at < now() - ${QUIET_SECONDS} * interval '1 second'
      and exists (select from chats where chats.workspace_host = workspaces.host and chats.workspace = workspaces.name)
    order by workspaces.seen_at`.execute(db);
  return rows.find((due) => !except.has(keyOfMap(due))) ?? null;
}

export const keyOfMap = ({ workspace, head }: DueMap): string => `${workspace} ${head}`;

/** A workspace that was removed meanwhile has none. */
export async function saveMap(
  db: Db,
  host: string,
  { workspace, head }: DueMap,
  { files, lines }: Pick<RepositoryMap, 'files' | 'lines'>,
): Promise<void> {
  await sql`
    insert into repository_maps (host, workspace, head, files, lines)
    select host, name, ${head}, ${files}, ${json(lines)} from workspaces where host = ${host} and name = ${workspace}
    on conflict (host, workspace) do update set head = excluded.head, files = excluded.files, lines = excluded.lines, made_at = now()`.execute(
    db,
  );
}

interface StoredMap {
  workspace: string;
  head: string;
  files: number;
  lines: string[];
}

/** The map of the workspace that is active in a chat. */
export async function mapOfChat(db: Db, chatId: string): Promise<StoredMap | null> {
  const { rows } = await sql<StoredMap>`
    select maps.workspace, maps.head, maps.files, maps.lines from chats
    join repository_maps maps on maps.host = chats.workspace_host and maps.workspace = chats.workspace
    where chats.id = ${chatId} and jsonb_array_length(maps.lines) > 0`.execute(db);
  return rows[0] ?? null;
}
