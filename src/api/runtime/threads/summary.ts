import { z } from 'zod';
import { CHANNELS, capabilitiesOf, isGroupChat } from '../../../contracts/channels.ts';
import { cut } from '../../../domain/text/storable.ts';
import { type ThreadSummaryRow, threadSummaries, UNTITLED } from '../../../store/chats/threads/thread-summaries.ts';
import { flag, whole } from '../../http/request.ts';
import { endpoint } from '../shared/endpoint.ts';

const TITLE_CHARS = 72;
const PREVIEW_CHARS = 140;
const USUALLY = 50;
const MOST = 500;

const threadSummary = z
  .object({
    id: z.string(),
    title: z.string(),
    preview: z.string().describe('The beginning of the last words'),
    model: z.string(),
    mode: z.string(),
    workspace: z.string().describe('Folder of the active workspace, else the one that the thread was made with'),
    branch: z.string().nullable().describe('Of that folder, as head and dirty, when it was last looked at'),
    head: z.string().nullable(),
    dirty: z.boolean(),
    archived: z.boolean(),
    updated_at: z.iso.datetime(),
    latest_turn_id: z.string().nullable(),
    latest_turn_status: z
      .string()
      .nullable()
      .describe('In lower case, without underscores: inprogress, completed, failed, interrupted'),
    channel: z.enum(Object.keys(CHANNELS) as [string, ...string[]]),
    label: z.string().describe('What the chat is called'),
    state: z
      .enum(['idle', 'working', 'waiting', 'limited', 'paused'])
      .describe(
        'waiting: for an answer of a person. limited: until its model may be asked again. A coding task counts, too.',
      ),
    cost_usd: z.number().nonnegative().describe('Total spend of its chat, with coding tasks'),
    pending: z.int().nonnegative().describe('Open questions and approvals'),
  })
  .meta({ id: 'ThreadSummary' });

export const getThreadsSummary = endpoint({
  method: 'GET',
  path: '/v1/threads/summary',
  summary: 'Threads of all channels as a list shows them',
  query: {
    limit: whole.describe(`${USUALLY} when left out, from 1 to ${MOST}`),
    search: z.string().describe('Part of an id, a title, the last words or a model, in any case'),
    include_archived: flag,
    archived_only: flag,
  },
  answer: { schema: z.array(threadSummary), what: 'Summaries, the newest first.' },
  handle: async ({ query }, { store }) => {
    const rows = await threadSummaries(store.db, {
      limit: Math.min(MOST, Math.max(1, query.limit ?? USUALLY)),
      include_archived: query.include_archived ?? false,
      archived_only: query.archived_only ?? false,
      search: query.search?.trim(),
    });
    return rows.map(summaryOf);
  },
});

function summaryOf(row: ThreadSummaryRow): z.output<typeof threadSummary> {
  const title = cut(row.title ?? (row.input_summary || UNTITLED), TITLE_CHARS);
  return {
    id: row.id,
    title,
    preview: cut(row.said ?? title, PREVIEW_CHARS),
    model: row.model,
    mode: row.mode,
    workspace: row.workspace,
    ...stateOfGit(row.git),
    archived: row.archived,
    updated_at: row.updated_at.toISOString(),
    latest_turn_id: row.latest_turn_id,
    latest_turn_status: row.latest_turn_status?.replaceAll('_', '') ?? null,
    channel: row.channel,
    label: labelOf(row, title),
    state: row.state,
    cost_usd: row.micro_usd / 1_000_000,
    pending: row.pending,
  };
}

function stateOfGit(git: ThreadSummaryRow['git']): { branch: string | null; head: string | null; dirty: boolean } {
  if (!git) return { branch: null, head: null, dirty: false };
  const head = git.head?.slice(0, 7) ?? null;
  return { branch: git.branch ?? (head && `detached@${head}`), head, dirty: git.modified + git.untracked > 0 };
}

function labelOf(row: ThreadSummaryRow, title: string): string {
  const { screen, label } = capabilitiesOf(row.channel);
  // clients of the API know the title; a person reads the label
  if (screen === 'client') return title === UNTITLED ? 'New chat' : title;
  if (screen === 'terminal') return 'Terminal';
  const [digits] = (row.phone ?? '').split('@');
  // an address of a channel says nothing to a person
  return row.name ?? (digits ? `+${digits}` : isGroupChat(row.channel, row.address) ? `${label} group` : label);
}
