import { moreThanText, Resource } from '../shared/resource.ts';

/** `GET /v1/threads/summary`, as far as the page uses it. */
export interface ThreadSummary {
  id: string;
  title: string;
  preview: string;
  model: string;
  archived: boolean;
  updated_at: string;
  latest_turn_status: string | null;
  channel?: string;
  /** name of the person or group */
  label?: string | null;
  state?: string;
  cost_usd?: number;
  /** questions that are open */
  pending?: number;
}

export const summaries = new Resource<ThreadSummary[]>('/v1/threads/summary?limit=500', (event) => event.about === 'thread' && moreThanText(event), 700);

export const nameOf = ({ label, title, id }: Pick<ThreadSummary, 'label' | 'title' | 'id'>): string => label || title || id;

/** What a chat does: `waiting`, `running`, `failed` or `idle`. */
export function stateOf({ state, pending, latest_turn_status: status }: ThreadSummary): 'waiting' | 'running' | 'failed' | 'idle' {
  if ((pending ?? 0) > 0 || state === 'waiting') return 'waiting';
  if (state === 'running' || status === 'inprogress' || status === 'in_progress' || status === 'queued') return 'running';
  return state === 'failed' || status === 'failed' ? 'failed' : 'idle';
}

/** Chats with these words, in the order of the list. */
export function found(chats: readonly ThreadSummary[], words: string): ThreadSummary[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return [...chats];
  return chats.filter((chat) => {
    const text = `${chat.label ?? ''} ${chat.title} ${chat.preview} ${chat.id}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}
