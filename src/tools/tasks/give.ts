import { join } from 'node:path';
import { z } from 'zod';
import { factsOf } from '../../../kennel/agents/registry.ts';
import { runFolder } from '../../adapters/kennel/run-folders.ts';
import { packSession } from '../../adapters/sessions/bundle.ts';
import { keptSession, readSessionFile } from '../../adapters/sessions/places.ts';
import { INSIDE, worktreeOf } from '../../contracts/kennel.ts';
import { UserError } from '../../contracts/user-error.ts';
import { factsOfSession, isSessionAgent, movedSession } from '../../domain/tasks/session-text.ts';
import { attachmentId, GIVEN, saveAttachment } from '../../store/chats/messages/attachments.ts';
import { reachOf } from '../../store/chats/shares.ts';
import { isOver, type Task, taskNumbers, tasksOfChat } from '../../store/kennel/tasks/tasks.ts';
import { untold } from '../declarations.ts';
import { defineTool, type ToolContext, type ToolOutcome } from '../tool.ts';
import { changeWorkspace, type Opened, WITH_IMAGE_MS } from '../workspace/in-workspace.ts';
import { workOf } from './handed-work.ts';
import { OWN_CHAT } from './take.ts';

/** `session_give`: the session of a task goes to the person's own machine. */

const no = (output: string): ToolOutcome => ({ ok: false, output });

export const sessionGive = defineTool({
  name: 'session_give',
  family: 'tasks',
  effect: 'idempotent',
  runsIn: 'kennel',
  timeoutMs: WITH_IMAGE_MS,
  anyHost: true,
  reads: ['report'],
  sends: [],
  ownersOnly: OWN_CHAT,
  notARoutineStep: true,
  description: 'Send the session of a task as a file.',
  danger: 'SAFE',
  schema: z.strictObject({
    task: z.string().trim().min(1).max(60).optional().meta(untold('Number or id; the latest one when left out')),
  }),
  run: async ({ task: named }, context) => {
    if ((await reachOf(context.db, context)) !== null) return no(OWN_CHAT);
    const task = await taskMeant(context, named);
    return 'ok' in task ? task : await changeWorkspace(context, task.workspace, (at) => give(context, at, task));
  },
});

async function taskMeant({ db, chatId, host }: ToolContext, named: string | undefined): Promise<Task | ToolOutcome> {
  const tasks = await tasksOfChat(db, chatId, { limit: 200 });
  const numbers = await taskNumbers(db, chatId);
  const task =
    named === undefined
      ? tasks.find(({ harness, session_id }) => isSessionAgent(harness) && session_id !== null)
      : tasks.find(({ id }) => id === named || String(numbers.get(id)) === named);
  if (!task)
    return no(
      named === undefined ? 'No task of Claude Code or Codex was in this chat.' : 'There is no such task here.',
    );
  const number = numbers.get(task.id);
  if (!isSessionAgent(task.harness))
    return no(`Only sessions of Claude Code and Codex can be given; this was ${factsOf(task.harness).label}.`);
  if (!isOver(task.state)) return no(`It is still at work. Say \`stop ${number}\` first, then \`give ${number}\`.`);
  if (task.host !== host)
    return no(`It worked on the machine ${task.host}, which is another one than the active project's.`);
  return task;
}

async function give(context: ToolContext, at: Opened, task: Task): Promise<ToolOutcome> {
  const { db, callId, threadId, config } = context;
  const { harness: agent, session_id: sessionId } = task;
  if (!isSessionAgent(agent)) return no('This agent keeps no session.');
  const text = await readSessionFile(keptSession(runFolder(config, task.id)));
  const facts = text === null ? null : factsOfSession(agent, text);
  if (text === null || facts?.id !== sessionId)
    return no('Its session is not kept any more: it is for 30 days after the end of a task.');
  const work = await workOf(context, at, task);
  if ('ok' in work) return work;
  const root = task.worktree ? join(INSIDE.workspace, worktreeOf(task.id)) : INSIDE.workspace;
  const own = config.GH_TOKEN ? [config.GH_TOKEN] : [];
  const { text: session } = movedSession(text, { from: root, to: root, own });
  const about = { agent, sessionId: facts.id, title: facts.title, project: at.name, root, unfinished: false };
  let data: Buffer;
  try {
    data = await packSession({ ...about, ...work, session });
  } catch (error) {
    if (error instanceof UserError) return no(error.message);
    throw error;
  }
  const id = attachmentId(callId, 'session');
  // where no model answers, words of tools are shown without underscores
  const name = `${at.name.replaceAll('_', '-')}.session.gz`;
  await saveAttachment(db, { id, threadId, kind: 'document', mime: GIVEN, name, data, preview: null, text: null });
  return {
    ok: true,
    ours: true,
    output: `Here is the session. On your computer, in the folder of the project: \`fetch hand-over --apply ~/Downloads/${name}\`. It says how to go on.\n\n![${name}](attachment:${id})`,
    metadata: { attachment: id, taskId: task.id },
  };
}
