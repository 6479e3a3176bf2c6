import type { Payload, PayloadCodec } from '@temporalio/common';
import { fromPayloadJson, type PayloadJson, toPayloadJson } from '../../../adapters/payloads/codec-server.ts';
import { CHANNELS, capabilitiesOf } from '../../../contracts/channels.ts';
import {
  AGENT_PHASE,
  AGENT_SINCE,
  AGENT_WAITS_FOR,
  CHAT_CHANNEL,
  CONVERSATION,
  SPEND_MICRO_USD,
} from '../../../contracts/signals.ts';
import { scheduleInWords } from '../../../domain/chat/words/schedule-words.ts';
import { moneyText } from '../../../domain/model/price-book.ts';

/**
 * The lists of the Temporal Web UI for people. The UI shows search attributes, which are never encrypted, and no memo.
 * So the login proxy adds columns to its answers: the name from the decrypted memo, and the search attributes in words.
 */

/** Columns that the proxy adds, by their types. No server knows them. */
const ADDED = {
  Name: 'Keyword',
  State: 'Keyword',
  WaitingFor: 'Keyword',
  Channel: 'Keyword',
  Spent: 'Keyword',
  Since: 'Datetime',
} as const;
type Added = Partial<Record<keyof typeof ADDED, string>>;

/** Added columns that a query may name, and the search attributes behind them. */
const BEHIND: Readonly<Record<string, string>> = {
  State: AGENT_PHASE,
  WaitingFor: AGENT_WAITS_FOR,
  Channel: CHAT_CHANNEL,
  Since: AGENT_SINCE,
};

type Fields = Record<string, PayloadJson>;
interface ListedWorkflow {
  execution?: { workflowId?: string };
  type?: { name?: string };
  startTime?: string;
  closeTime?: string;
  status?: string;
  memo?: { fields?: Fields };
  searchAttributes?: { indexedFields?: Fields };
}
interface ListedSchedule {
  memo?: { fields?: Fields };
  searchAttributes?: { indexedFields?: Fields };
}

/** Which list a path of the Web UI's API asks for. */
export type List = 'workflows' | 'schedules' | 'search-attributes';
export const listOf = (path: string): List | null =>
  (/^\/api\/v1\/namespaces\/[^/]+\/(workflows|schedules|search-attributes)$/.exec(path)?.[1] as List | undefined) ??
  null;

/** A query of the Web UI with the search attributes that its server knows. */
export function serverQuery(query: string): string {
  return query.replace(
    /"(?:[^"\\]|\\[\s\S])*(?:\\?$|")|'(?:[^'\\]|\\[\s\S])*(?:\\?$|')|`?\b(State|WaitingFor|Channel|Since)\b`?/g,
    (text, name?: string) => (name === undefined ? text : BEHIND[name]!),
  );
}

/** The answer to a list with the added columns. An answer that is none stays as it is. */
export async function readable(list: List, query: string, body: string, codec: PayloadCodec): Promise<string> {
  const answer = JSON.parse(body) as {
    executions?: ListedWorkflow[];
    schedules?: ListedSchedule[];
    customAttributes?: Record<string, string>;
  };
  if (list === 'search-attributes') {
    const added = Object.entries(ADDED).map(([name, type]) => [name, `INDEXED_VALUE_TYPE_${type.toUpperCase()}`]);
    answer.customAttributes = { ...answer.customAttributes, ...Object.fromEntries(added) };
  }
  for (const each of answer.schedules ?? []) add(each, await scheduleColumns(each, codec));
  for (const each of answer.executions ?? []) add(each, await workflowColumns(each, codec));
  // the database of a small server cannot sort by it
  if (query.includes(SPEND_MICRO_USD)) answer.executions?.sort((one, other) => spentBy(other) - spentBy(one));
  return JSON.stringify(answer);
}

function add(listed: ListedWorkflow | ListedSchedule, columns: Added): void {
  const fields = Object.entries(columns).map(([name, value]) => [
    name,
    toPayloadJson({
      metadata: { encoding: Buffer.from('json/plain'), type: Buffer.from(ADDED[name as keyof typeof ADDED]) },
      data: Buffer.from(JSON.stringify(value)),
    }),
  ]);
  listed.searchAttributes = {
    indexedFields: { ...listed.searchAttributes?.indexedFields, ...Object.fromEntries(fields) },
  };
}

const contentOf = (payload: PayloadJson | undefined): unknown =>
  payload?.data === undefined ? undefined : JSON.parse(Buffer.from(payload.data, 'base64').toString());
const attribute = ({ searchAttributes }: ListedWorkflow, name: string): unknown =>
  contentOf(searchAttributes?.indexedFields?.[name]);
const spentBy = (listed: ListedWorkflow): number => Number(attribute(listed, SPEND_MICRO_USD) ?? 0);

/** A text of a memo; undefined where it is not there, or no key opens it. */
async function remembered(fields: Fields | undefined, name: string, codec: PayloadCodec): Promise<string | undefined> {
  const sealed = fields?.[name];
  if (!sealed) return undefined;
  try {
    const [payload] = await codec.decode([fromPayloadJson(sealed)]);
    const value: unknown = JSON.parse(Buffer.from((payload as Payload).data ?? []).toString());
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

async function workflowColumns(listed: ListedWorkflow, codec: PayloadCodec): Promise<Added> {
  const { execution, type, status = '', startTime, closeTime, memo } = listed;
  // a chat in which no turn has begun has no attributes yet
  const channel = attribute(listed, CHAT_CHANNEL) ?? /^chat\/([a-z]+)\//.exec(execution?.workflowId ?? '')?.[1];
  const waitsFor = attribute(listed, AGENT_WAITS_FOR);
  const since = closeTime ?? attribute(listed, AGENT_SINCE) ?? startTime;
  const phase = attribute(listed, AGENT_PHASE);
  const running = status.endsWith('_RUNNING');
  const ended = phase === 'failed' ? phase : status.replace('WORKFLOW_EXECUTION_STATUS_', '').toLowerCase();
  const name = (await remembered(memo?.fields, 'name', codec)) ?? NAMES[type?.name ?? ''];
  const label = typeof channel === 'string' ? capabilitiesOf(channel).label : undefined;
  return {
    Name: name ?? (type?.name === CONVERSATION && label ? `a chat on ${label}` : (type?.name ?? '')),
    State: running ? String(phase ?? STATES[type?.name ?? ''] ?? 'working') : ended.replaceAll('_', ' '),
    ...(typeof channel === 'string' && { Channel: channel in CHANNELS ? channel : 'unknown' }),
    ...(typeof waitsFor === 'string' && running && { WaitingFor: waitsFor }),
    ...(attribute(listed, SPEND_MICRO_USD) !== undefined && {
      Spent: moneyText({ tokens: 0, microUsd: spentBy(listed) }),
    }),
    ...(typeof since === 'string' && { Since: since }),
  };
}

/** Of runs that have set no phase. */
const STATES: Readonly<Record<string, string>> = { conversation: 'idle', reminder: 'scheduled' };

/** Of runs that an earlier release started without a name. */
const NAMES: Readonly<Record<string, string>> = {
  codingTask: 'a coding task',
  routine: 'a run of a schedule',
  reminder: 'a reminder',
};

/** `lunch: every weekday at 8:30` */
async function scheduleColumns({ memo }: ListedSchedule, codec: PayloadCodec): Promise<Added> {
  const read = (name: string) => remembered(memo?.fields, name, codec);
  const [name, schedule] = await Promise.all([read('name'), read('schedule')]);
  if (schedule === undefined) return {};
  return { Name: [name, scheduleInWords(schedule)].filter(Boolean).join(': ') };
}
