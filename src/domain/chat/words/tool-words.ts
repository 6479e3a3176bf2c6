import { parseGroupOrder } from '../groups.ts';
import { parseBringIn } from './bring-in.ts';
import { isTooLong, plainWords } from './commands.ts';
import { parseBring, parseParts, parseTogether } from './race-words.ts';
import { parseGive, parseTake } from './session-words.ts';
import { parseShip } from './ship-words.ts';

/** Messages whose words say which tool is meant, so that no model has to be asked. */

interface NamedTool {
  name:
    | 'workspace_clone'
    | 'undo'
    | 'cron_delete'
    | 'app_control'
    | 'git_diff'
    | 'task_create'
    | 'task_bring'
    | 'ship'
    | 'session_take'
    | 'session_give'
    | 'register_group';
  arguments: object;
}

/** The calls that a whole message means; none for every other message. */
export function toolsInWords(text: string): NamedTool[] {
  const together = parseTogether(text);
  if (together) {
    const { tasks, workspace } = together;
    return tasks.map((task) => ({ name: 'task_create', arguments: { ...task, ...(workspace && { workspace }) } }));
  }
  const tool = toolInWords(text);
  return tool ? [tool] : [];
}

function toolInWords(text: string): NamedTool | null {
  const parts = parseParts(text);
  if (parts?.again) return { name: 'task_create', arguments: { goal: parts.goal, attempts: parts.attempts } };
  const bring = parseBring(text);
  if (bring) return { name: 'task_bring', arguments: bring };
  const from = parseBringIn(text);
  if (from) return { name: 'workspace_clone', arguments: from };
  const undo = parseUndo(text);
  if (undo) return { name: 'undo', arguments: undo };
  const task = parseTaskStart(text);
  if (task) return { name: 'task_create', arguments: task };
  const ship = parseShip(text);
  if (ship) return { name: 'ship', arguments: ship };
  const app = parseApp(text);
  if (app) return { name: 'app_control', arguments: app };
  if (parseDiff(text)) return { name: 'git_diff', arguments: { picture: true } };
  // with a slash: in a sentence, the words are about something else
  const slashed = text.startsWith('/');
  const take = slashed ? parseTake(text) : null;
  if (take) return { name: 'session_take', arguments: take };
  const give = slashed ? parseGive(text) : null;
  if (give) return { name: 'session_give', arguments: give };
  const group = slashed ? parseGroupOrder(text) : null;
  if (group) return { name: 'register_group', arguments: group };
  const schedule = parseScheduleRemoval(text);
  return schedule === null ? null : { name: 'cron_delete', arguments: { cron: schedule } };
}

/**
 * A coding task in words: `/task claude in demo: fix the tests`, without the agent or the workspace where those are not
 * named.
 */
interface TaskStart {
  goal: string;
  agent?: string;
  workspace?: string;
}

/** A goal may be long, so the limit of other words does not hold; its beginning decides. */
export function parseTaskStart(text: string): TaskStart | null {
  const [head, agent, workspace] = /^\/task(?: (?!in )([a-z]{1,20}))?(?: in ([\w.-]{1,100}))?: /.exec(text) ?? [];
  const goal = head === undefined ? '' : text.slice(head.length).trim();
  return goal ? { goal, ...(agent && { agent }), ...(workspace && { workspace }) } : null;
}

export const taskStartWords = ({ goal, agent, workspace }: TaskStart): string =>
  `/task${agent ? ` ${agent}` : ''}${workspace ? ` in ${workspace}` : ''}: ${goal}`;

/**
 * What is to be taken back: the last coding task or direct edits, one task by its number, one task or edit by its id,
 * or everything; or the last undo. Its workspace is the active one unless it is named.
 */
type UndoOrder = { what: 'one' | 'all' | 'redo' } | { task: string; workspace?: string };

const UNDOES: Record<string, 'one' | 'all' | 'redo'> = {
  undo: 'one',
  'undo it': 'one',
  'undo that': 'one',
  'undo all': 'all',
  'undo everything': 'all',
  redo: 'redo',
  'redo it': 'redo',
  'redo that': 'redo',
  // `annuler` is left out: it stops what runs
  rückgängig: 'one',
  'rückgängig machen': 'one',
  deshacer: 'one',
  deshaz: 'one',
  desfazer: 'one',
  desfaz: 'one',
  défaire: 'one',
  'वापस लो': 'one',
  'वापस लीजिए': 'one',
};

export function parseUndo(text: string): UndoOrder | null {
  const words = plainWords(text);
  const [, task, workspace] =
    /^undo (?:task )?((?:tsk_|edit-|command-)[a-z0-9]{1,40}|\d{1,5})(?: in ([\w.-]{1,100}))?$/.exec(words) ?? [];
  if (task !== undefined) return { task, ...(workspace && { workspace }) };
  const what = UNDOES[words];
  return what === undefined ? null : { what };
}

/** The words that take back one task or edit, in its workspace. */
export const undoWords = ({ id, workspace }: { id: string; workspace: string }): string => `undo ${id} in ${workspace}`;

/** An order about apps that are left running. `app`: the number in the list, or the id, of one. */
interface AppOrder {
  action: 'list' | 'log' | 'preview' | 'stop';
  app?: string;
}

export function parseApp(text: string): AppOrder | null {
  const words = plainWords(text);
  if (words === 'apps') return { action: 'list' };
  const [preview, previewed] = /^(?:app )?preview(?: (\d{1,2}))?$/.exec(words) ?? [];
  if (preview) return { action: 'preview', ...(previewed && { app: previewed }) };
  // `stop 2` is about a coding task
  const named = /^(?:app )?(log|stop) (app-[a-f0-9]{6})$|^app (log|stop) (\d{1,2})$/.exec(words);
  if (named) return { action: (named[1] ?? named[3]) as 'log' | 'stop', app: (named[2] ?? named[4])! };
  const bare = /^app (log|stop)$/.exec(words);
  return bare ? { action: bare[1] as 'log' | 'stop' } : null;
}

/** What was changed, as pictures. */
export const parseDiff = (text: string): true | null =>
  ['diff', 'show diff', 'show the diff'].includes(plainWords(text)) || null;

/** The name or number in `schedules remove NAME`. */
export function parseScheduleRemoval(text: string): string | null {
  if (isTooLong(text)) return null;
  return (
    /^(?:schedules remove|\/(?:schedules?|crons?) (?:remove|delete)) (\S(?:.{0,78}\S)?)$/i.exec(text.trim())?.[1] ??
    null
  );
}
