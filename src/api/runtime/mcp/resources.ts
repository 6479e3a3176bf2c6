import { pathToFileURL } from 'node:url';
import type { Resource } from '../../../adapters/mcp/serving/protocol.ts';
import { isProgramThread, programThreads } from '../../../store/chats/sessions/program-sessions.ts';
import { listWorkspaces } from '../../../store/kennel/workspaces/workspaces.ts';
import { threadDetail } from '../../../store/turns/thread-detail.ts';
import type { RuntimeDeps } from '../shared/endpoint.ts';
import { CHAT_KEYS } from './begin.ts';

const SESSION = 'deepseek://session/';
const MOST = 100;
const READ_TURNS = 50;

/** The folders of the workspaces, and the conversations that programs began. Chats of people are not among them. */
export async function resources({ store }: RuntimeDeps): Promise<Resource[]> {
  const [workspaces, threads] = await Promise.all([
    listWorkspaces(store.db),
    programThreads(store.db, CHAT_KEYS, MOST),
  ]);
  return [
    ...workspaces.map(({ name, path, host }) => ({
      uri: pathToFileURL(path).href,
      name,
      description: `Workspace on ${host}; its files are read with file_read`,
    })),
    ...threads.map(({ id, title }) => ({ uri: SESSION + id, name: title ?? id, mimeType: 'text/plain' })),
  ];
}

/** Null when there is no such resource. */
export async function readResource(
  { store }: RuntimeDeps,
  uri: string,
): Promise<{ text: string; mimeType: string } | null> {
  if (uri.startsWith(SESSION)) {
    const id = uri.slice(SESSION.length);
    const detail = (await isProgramThread(store.db, id))
      ? await threadDetail(store.db, id, { lastTurns: READ_TURNS })
      : null;
    const said = detail?.items.filter(({ kind }) => kind === 'user_message' || kind === 'agent_message');
    return said
      ? {
          text: said
            .map(
              ({ kind, detail, summary }) => `${kind === 'user_message' ? 'user' : 'assistant'}: ${detail ?? summary}`,
            )
            .join('\n\n'),
          mimeType: 'text/plain',
        }
      : null;
  }
  const workspace = (await listWorkspaces(store.db)).find(({ path }) => pathToFileURL(path).href === uri);
  return workspace
    ? {
        text: `The workspace ${workspace.name}. Use file_list and file_read with workspace "${workspace.name}".`,
        mimeType: 'text/plain',
      }
    : null;
}
