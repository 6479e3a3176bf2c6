import { join } from 'node:path';
import { z } from 'zod';
import { factsOf } from '../../../kennel/agents/registry.ts';
import { runFolder } from '../../adapters/kennel/run-folders.ts';
import { readSession, type SessionBundle } from '../../adapters/sessions/bundle.ts';
import { placeSession } from '../../adapters/sessions/places.ts';
import { taskWorkflowId } from '../../contracts/ids.ts';
import { INSIDE, worktreeOf } from '../../contracts/kennel.ts';
import { UserError } from '../../contracts/user-error.ts';
import { chooseAgent } from '../../domain/tasks/agents/agents.ts';
import { movedSession } from '../../domain/tasks/session-text.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { HOUR } from '../../domain/time.ts';
import { bytesOfAttachment, latestBundle } from '../../store/chats/messages/attachments.ts';
import { reachOf } from '../../store/chats/shares.ts';
import { listHosts } from '../../store/kennel/hosts.ts';
import { insertTask, taskOfCall } from '../../store/kennel/tasks/tasks.ts';
import { untold } from '../declarations.ts';
import { defineTool, idFromCall, type ToolContext, type ToolOutcome } from '../tool.ts';
import { inTurnOf, onSite, type Site, text, WITH_IMAGE_MS } from '../workspace/in-workspace.ts';
import { beside } from '../workspace/own-content.ts';
import { bringWork, workspaceFor } from './handed-work.ts';

/** `session_take`: a task goes on with a session of a coding agent that began on another machine. */

const no = (output: string): ToolOutcome => ({ ok: false, output });

export const OWN_CHAT = 'Sessions are handed over in the chat with the owner alone.';
const HOW =
  'No session has come to this chat. On your computer, in the folder of the project: fetch hand-over. Then send its file here with the word take.';

export const sessionTake = defineTool({
  name: 'session_take',
  family: 'tasks',
  effect: 'idempotent',
  runsIn: 'kennel',
  timeoutMs: WITH_IMAGE_MS,
  anyHost: true,
  reads: ['attachment'],
  // the session is the newest one that came to the owner's own chat, when they say the word for it
  sends: ['task'],
  sent: ({ goal }) => ({ texts: ['take', ...(goal === undefined ? [] : [goal])] }),
  ownersOnly: OWN_CHAT,
  notARoutineStep: true,
  description: 'Go on with a session file that was sent.',
  danger: 'MODERATE',
  schema: z.strictObject({
    workspace: text(100).trim().min(1).optional().meta(untold('The one with its commits when left out')),
    goal: text(10_000).trim().min(1).optional().meta(untold('What its agent is told first')),
  }),
  startsTask: true,
  asks: (_, at, say) => say('ask.take', { at }),
  run: (args, context) => onSite(context, (site) => take(context, site, args)),
});

interface Wanted {
  workspace?: string | undefined;
  goal?: string | undefined;
}

async function take(context: ToolContext, site: Site, { workspace, goal }: Wanted): Promise<ToolOutcome> {
  const { db, callId, chatId, config } = context;
  if ((await reachOf(db, context)) !== null) return no(OWN_CHAT);
  const known = await taskOfCall(db, callId);
  if (known) return taken(factsOf(known.harness).label, known.workspace, known.id);
  const bundle = await bundleOf(context);
  if ('ok' in bundle) return bundle;
  const { agent } = bundle;
  const chosen = chooseAgent({
    wanted: agent,
    allowed: config.FETCH_KENNEL_AGENTS.split(',').map((name) => name.trim()),
    ready: (await listHosts(db)).find(({ host }) => host === site.host)?.harnesses ?? [],
  });
  if (!chosen.ok) return no(chosen.why);
  const at = await workspaceFor(context, site, bundle, workspace);
  if ('ok' in at) return at;
  const id = idFromCall('tsk_', callId);
  const brought = await inTurnOf(
    at.path,
    () => beside(at, context, () => bringWork(context, at, bundle, `fetch/${id}`)),
    context.signal,
  );
  if (!brought.ok) return brought;
  const root = join(INSIDE.workspace, worktreeOf(id));
  const moved = movedSession(bundle.session, { from: bundle.root, to: root });
  await placeSession(join(runFolder(config, id), 'home'), agent, bundle.sessionId, { root, text: moved.text });
  const task = await insertTask(db, {
    id,
    chat_id: chatId,
    call_id: callId,
    workflow_id: taskWorkflowId(id),
    goal: goal ?? `Go on with the session “${inline(bundle.title, 100) || bundle.project}”`,
    agent,
    harness: agent,
    host: site.host,
    workspace: at.name,
    worktree: true,
    session_id: bundle.sessionId,
    material: aboutMove(bundle, root, goal !== undefined),
    timeout_ms: Math.round(config.FETCH_TASK_HOURS * HOUR),
  });
  return task ? taken(factsOf(agent).label, at.name, id) : no('This chat has no thread yet.');
}

const taken = (label: string, workspace: string, id: string): ToolOutcome => ({
  ok: true,
  ours: true,
  output: `${label} goes on with your session in ${workspace} (${id}), on a branch of its own. I write when it is done. Say \`give\` then, to go on with it on your computer.`,
  metadata: { taskId: id, workspace },
});

/** What the agent does not know when it wakes up elsewhere. */
const aboutMove = ({ root, branch, unfinished }: SessionBundle, to: string, told: boolean): string =>
  [
    `This session has moved to another machine. The project was in ${root} and is in ${to} now${branch ? `, with the work of the branch ${branch}` : ''}; look at files again before you change them.`,
    ...(unfinished ? ['What was not committed is in the newest commit there.'] : []),
    ...(told ? [] : ['Go on where you stopped. If nothing is left to do, say what is done.']),
  ].join(' ');

async function bundleOf({ db, chatId }: ToolContext): Promise<SessionBundle | ToolOutcome> {
  const sent = await latestBundle(db, chatId);
  const file = sent && (await bytesOfAttachment(db, sent.thread_id, sent.id));
  if (!file) return no(HOW);
  try {
    return await readSession(file.data);
  } catch (error) {
    if (error instanceof UserError) return no(error.message);
    throw error;
  }
}
