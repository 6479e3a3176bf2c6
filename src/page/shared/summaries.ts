import { moreThanText, Resource } from './server/resource.ts';

/** `GET /v1/threads/summary`, as far as the page uses it. */
export interface ThreadSummary {
  id: string;
  title: string;
  preview: string;
  updated_at: string;
  latest_turn_status: string | null;
  channel: string;
  /** name of the person or group, or the title */
  label: string;
  /** `waiting`: for a person */
  state: 'idle' | 'working' | 'waiting' | 'limited' | 'paused';
  cost_usd: number;
  /** questions that are open */
  pending: number;
}

/** So many of the newest are listed. */
export const LISTED = 500;
export const SUMMARIES = `/v1/threads/summary?limit=${LISTED}`;

export const summaries = new Resource<ThreadSummary[]>(
  SUMMARIES,
  (event) => event.about === 'tasks' || (event.about === 'thread' && moreThanText(event)),
  700,
);

/** The state in a row: one whose last turn failed shows that. */
export const stateOf = ({ state, latest_turn_status: status }: ThreadSummary): ThreadSummary['state'] | 'failed' =>
  state === 'idle' && status === 'failed' ? 'failed' : state;

/** Chats with these words, in the order of the list. */
export function found(chats: readonly ThreadSummary[], words: string): ThreadSummary[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return [...chats];
  return chats.filter((chat) => {
    const text = `${chat.label} ${chat.title} ${chat.preview} ${chat.id}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}
