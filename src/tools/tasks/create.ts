import { z } from 'zod';
import { taskWorkflowId } from '../../contracts/ids.ts';
import { AGENT_NAMES } from '../../contracts/kennel.ts';
import { parsePlanFirst } from '../../domain/chat/words/plan-words.ts';
import { chooseAgent } from '../../domain/tasks/agents/agents.ts';
import { DAY, HOUR } from '../../domain/time.ts';
import { planWishes } from '../../store/kennel/questions/task-plans.ts';
import { insertTask, lastNamedAgent } from '../../store/kennel/tasks/tasks.ts';
import { shown } from '../approval-words.ts';
import { idFromCall } from '../call-ids.ts';
import { toldInPrompt } from '../declarations.ts';
import { defineTool, type ToolContext, type ToolOutcome } from '../tool.ts';
import { awaitEngine } from '../workspace/await-engine.ts';
import { taskTool } from './task-of-chat.ts';
import { shortGoal, taskView } from './view.ts';
import { workspaceOfTask } from './workspace-of-task.ts';

const MAX_TIMEOUT_MS = DAY;

const schema = z.strictObject({
  goal: z.string().trim().min(1).max(10_000).describe('With everything the agent must know'),
  agent: z
    .enum([...AGENT_NAMES, 'auto'])
    .default('auto')
    .describe('Named by the person'),
  workspace: z.string().trim().min(1).max(100).optional().meta(toldInPrompt('The active one when left out')),
  worktree: z.boolean().default(false).describe('Beside other tasks, on its own branch'),
  plan: z.boolean().optional().describe('The person must agree to a plan first'),
  timeout: z.int().min(1_000).max(MAX_TIMEOUT_MS).optional().describe('Milliseconds, if the person named a limit'),
});

export const taskCreate = defineTool({
  ...taskTool,
  name: 'task_create',
  family: 'core',
  reads: [],
  // the agent acts on this text, and reaches the hosts that the owner lists or a person has allowed
  sends: ['task'],
  sent: (args) => ({ texts: [args.goal] }),
  description:
    'Start a coding task: an agent does complex work (features, refactoring) in a container, and its report comes by itself. Never for a small edit, a deletion or a command.',
  danger: 'MODERATE',
  schema,
  summarise: (args) => args.agent,
  workspaceOf: (args) => args.workspace,
  startsTask: true,
  asks: ({ agent }, at) => `Let ${agent === 'auto' ? 'a coding agent' : shown(agent)} work${at}?`,
  run: create,
});

/**
 * Whether a task begins with a plan. The word of the person comes first, then the chat's preference, then the model,
 * then the size of the goal.
 */
async function plansFirst(
  { db, config, threadId, turnId, unattended }: ToolContext,
  { plan, goal }: Pick<z.output<typeof schema>, 'plan' | 'goal'>,
): Promise<boolean> {
  // nobody is there to agree, unless the routine wants it so
  if (unattended) return plan === true;
  const { preferred, words } = await planWishes(db, threadId, turnId);
  if (words.some((said) => parsePlanFirst(said) !== null)) return true;
  return preferred ?? plan ?? goal.length > config.FETCH_PLAN_ABOVE_CHARS;
}

async function create(args: z.output<typeof schema>, context: ToolContext): Promise<ToolOutcome> {
  const place = await awaitEngine(context, () => workspaceOfTask(context, args.workspace));
  if ('problem' in place) return { ok: false, output: place.problem };
  const chosen = chooseAgent({
    wanted: args.agent,
    allowed: context.config.FETCH_KENNEL_AGENTS.split(',').map((name) => name.trim()),
    ready: place.harnesses,
    named: await lastNamedAgent(context.db, context.chatId),
    unattended: context.unattended,
  });
  if (!chosen.ok)
    return { ok: false, output: chosen.why, ...(chosen.choices && { metadata: { choices: chosen.choices } }) };
  const planning = await plansFirst(context, args);
  const id = idFromCall('tsk_', context.callId);
  const task = await insertTask(context.db, {
    id,
    chat_id: context.chatId,
    call_id: context.callId,
    workflow_id: taskWorkflowId(id),
    goal: args.goal,
    agent: args.agent,
    harness: chosen.agent,
    host: place.host,
    workspace: place.workspace,
    worktree: args.worktree,
    planning,
    timeout_ms: args.timeout ?? Math.round(context.config.FETCH_TASK_HOURS * HOUR),
  });
  if (!task) return { ok: false, output: 'This chat has no thread yet.' };
  return {
    ok: true,
    output: `Created task ${id}: '${shortGoal(args.goal)}' → ${chosen.agent} in ${place.workspace}. ${planning ? 'It begins with a plan, which comes to this chat and waits for the yes of the person; nothing is changed before. ' : ''}Its report comes to this chat; nothing has to be polled.`,
    metadata: { task: await taskView(context, task) },
  };
}
