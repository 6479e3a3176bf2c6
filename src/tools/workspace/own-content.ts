import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { identified } from '../../adapters/workspaces.ts';
import {
  noteOthersAtWork,
  noteOwn,
  ownContent,
  WHOLE,
  workedSince,
} from '../../store/kennel/workspaces/own-content.ts';
import type { ToolContext, ToolOutcome } from '../tool.ts';
import type { Opened } from './in-workspace.ts';

/**
 * Tells what a chat has written itself from text of others: the output of a call in a workspace is the chat's own when
 * all that the call could read has exactly the content that this chat left there, before it had read anything of
 * others.
 */

/** The files that a call reads and changes. */
export type Extent =
  /** one file; `writes`: its whole new content is in the arguments */
  | { file: string; changes?: 'edits' | { writes: string } }
  /** anything in the workspace, with its history; `runs`: by a program, in the environment of the workspace */
  | { file?: undefined; changes?: 'all'; runs?: true };

/** A call that is at work in a workspace. `mixed`: one that is not of the same chat's own works there, too. */
interface Visit {
  by: string;
  mixed: boolean;
}
/** Those of this process, by folder. One process serves a host. */
const visits = new Map<string, Set<Visit>>();

async function visiting<T>(path: string, by: string, act: (visit: Visit) => Promise<T>): Promise<T> {
  const there = visits.get(path) ?? new Set<Visit>();
  visits.set(path, there);
  const visit: Visit = { by, mixed: false };
  for (const other of there) if (other.by !== by) other.mixed = visit.mixed = true;
  there.add(visit);
  try {
    return await act(visit);
  } finally {
    there.delete(visit);
    if (there.size === 0) visits.delete(path);
  }
}

/** Runs a call that may bring something of others: nothing beside it counts as the chat's own. */
export async function beside(
  at: Opened,
  { db, callId }: ToolContext,
  act: () => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  await noteOthersAtWork(db, await folderOf(at));
  return await visiting(at.path, callId, act);
}

/** Runs a call, and says whether its output is the chat's own. Notes what it leaves there. */
export async function asOwn(
  at: Opened,
  context: ToolContext,
  extent: Extent,
  act: () => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const { db, chatId, callId } = context;
  if (!context.clean)
    return await (extent.changes === undefined ? visiting(at.path, callId, act) : beside(at, context, act));
  return await visiting(at.path, chatId, async (visit) => {
    const began = new Date();
    const place = { chatId, workspace: await folderOf(at) };
    const known = await ownContent(db, place);
    const isWhole = async (): Promise<boolean> => {
      const noted = known.get(WHOLE);
      return noted === undefined ? await isEmpty(at.path) : (await digestOf(at, WHOLE, context)) === noted;
    };
    const isFile = async (): Promise<boolean> => {
      const noted = extent.file === undefined ? undefined : known.get(extent.file);
      return noted !== undefined && (await digestOf(at, extent.file!, context)) === noted;
    };
    const isPlain = async (): Promise<boolean> =>
      extent.file !== undefined || !extent.runs || (await at.kennel.isPlain(at.path));
    const isQuiet = async (): Promise<boolean> => {
      if (visit.mixed || (await workedSince(db, at, began))) return false;
      const apps = await at.kennel.apps.list();
      return !apps.some(({ workspace, state }) => workspace === at.path && state === 'running');
    };
    let whole = (await isWhole()) && (await isPlain()) && (extent.changes === undefined || (await isQuiet()));
    let file = await isFile();
    const outcome = await act();
    if (extent.changes === undefined) {
      whole &&= (await isWhole()) && !visit.mixed;
      file &&= await isFile();
    } else {
      whole &&= (await isPlain()) && (await isQuiet());
      if (whole) await note(WHOLE, await digestOf(at, WHOLE, context));
      if (extent.file !== undefined && outcome.ok) {
        if (extent.changes === 'edits') {
          file &&= !visit.mixed;
          if (file) await note(extent.file, await digestOf(at, extent.file, context));
        } else await note(extent.file, createHash('sha256').update(extent.changes.writes).digest('hex'));
      }
    }
    return whole || file ? { ...outcome, ours: true as const } : outcome;

    async function note(path: string, digest: string | null): Promise<void> {
      if (digest !== null) await noteOwn(db, place, path, digest);
    }
  });
}

/** Notes a workspace that this chat has just made. */
export async function noteMade(at: Opened, context: ToolContext): Promise<void> {
  if (!context.clean) return;
  const digest = await digestOf(at, WHOLE, context);
  if (digest !== null)
    await noteOwn(context.db, { chatId: context.chatId, workspace: await folderOf(at) }, WHOLE, digest);
}

const folderOf = async (at: Pick<Opened, 'name' | 'path'>): Promise<string> => (await identified([at]))[0]!.identity;

const isEmpty = async (path: string): Promise<boolean> => (await readdir(path)).length === 0;

/** Null: it is not there, or too large. */
async function digestOf(at: Opened, path: string, { signal }: ToolContext): Promise<string | null> {
  const answer = await at.kennel.workspaceOp(at.path, { op: 'digest', path }, { signal });
  return answer.ok ? ((answer.data?.digest as string | null | undefined) ?? null) : null;
}
