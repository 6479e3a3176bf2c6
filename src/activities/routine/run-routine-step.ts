import { PROMPT_STEP, type PromptArgs, type StepInput, type StepResult } from '../../contracts/routine.ts';
import type { Source } from '../../contracts/taint.ts';
import { closedTo, decideUnattended } from '../../domain/consent/policy.ts';
import { whyAsked } from '../../domain/consent/taint.ts';
import { unknownOutcome } from '../../domain/failures.ts';
import { type Inputs, missingInputs } from '../../domain/routine-inputs.ts';
import { beginScheduledTurn, startBackgroundTask } from '../../gateway/intake/background.ts';
import { chatAccess, chatAutonomy } from '../../store/chats/threads/threads.ts';
import type { Db } from '../../store/postgres/database.ts';
import { taskOfRun, turnOfRun } from '../../store/routines/background-tasks.ts';
import { findRoutine } from '../../store/routines/routines.ts';
import { beginOnce, findRun, type RoutineRun, replaceStep, storeStep } from '../../store/routines/runs.ts';
import { lastWordsOf } from '../../store/routines/task-detail.ts';
import { tools } from '../../tools/registry.ts';
import { filledArgs } from '../../tools/routines/routine-steps.ts';
import { dangerOf, type Tool, type ToolOutcome } from '../../tools/tool.ts';
import type { RoutineDeps } from '../activity-deps.ts';
import { fail } from '../failure.ts';
import { clearUp, runTool, taskMadeBy } from '../run-tool.ts';
import { taintUnattended } from '../turn/context/provenance.ts';
import { givenByCall } from './open-run.ts';

type Args = Record<string, unknown>;

/** Runs one routine step. Its outcome is stored once, and a repeated attempt returns the stored one. */
export async function runRoutineStep(deps: RoutineDeps, input: StepInput): Promise<StepResult> {
  const { db } = deps;
  const { runId, index, settle, skip } = input;
  const run = await findRun(db, runId);
  if (!run) throw fail('NotFound', `Run ${runId} is not in the database.`);
  const made = async (tool: string, ok: boolean, skipped?: true): Promise<Partial<StepResult>> =>
    ok && !skipped && (tool === PROMPT_STEP || tools.get(tool)?.startsTask)
      ? { awaitsTask: true, ...(await taskMadeBy(deps, { id: callIdOf(runId, index), name: tool }, ok)) }
      : {};
  const stored = run.results[index];
  if (stored) return { ok: stored.ok, ...(await made(stored.tool, stored.ok, stored.skipped)) };
  const routine = await findRoutine(db, run.chat_id, run.routine_id);
  // the routine was deleted meanwhile: the run ends without a failed step
  if (!routine && settle === undefined) return { ok: false };
  const step = routine?.steps[index];
  const label = { name: step?.name ?? `step-${index + 1}`, tool: step?.tool ?? 'unknown' };
  const outcome = skip
    ? SKIPPED
    : settle !== undefined
      ? refused(settle)
      : await outcomeOf(deps, run, input, step, routine?.sources ?? []);
  const { ok } = await storeStep(db, runId, index, {
    ...label,
    ok: outcome.ok,
    output: outcome.output,
    ...(skip && { skipped: true }),
  });
  return { ok, ...(await made(label.tool, ok, skip)) };
}

/** The call that a routine step makes. */
export const callIdOf = (runId: string, index: number): string => `${runId}_${index}`;

const SKIPPED: ToolOutcome = { ok: true, output: 'It was not needed.' };
const refused = (output: string): ToolOutcome => ({ ok: false, output });

async function outcomeOf(
  deps: RoutineDeps,
  run: RoutineRun,
  { index, callId }: StepInput,
  step: { tool: string; args: Args } | undefined,
  sources: readonly Source[],
): Promise<ToolOutcome> {
  if (!step) return refused('The workflow was deleted while it ran.');
  if (step.tool === PROMPT_STEP)
    return await startPrompt(deps, run, callIdOf(run.id, index), step.args as unknown as PromptArgs, sources);
  const tool = tools.get(step.tool);
  if (!tool) return refused(`The tool ${step.tool} is no longer there.`);
  // an earlier release opened the run without what it is given
  const given = run.inputs
    ? { inputs: run.inputs, sources: run.sources }
    : await givenByCall(deps.db, run.chat_id, callId);
  const missing = missingInputs([step], given.inputs);
  if (missing.length > 0)
    return refused(`The run has no ${missing.join(', ')}. Start it again with workflow_run and its inputs.`);
  const checked = await mayRun(deps, run, tool, { written: step.args, inputs: given.inputs }, [
    ...sources,
    ...given.sources,
  ]);
  if (typeof checked === 'string') return refused(checked);
  // a run has no turn and no thread, so its own id takes their place
  const context = {
    ...deps,
    callId: callIdOf(run.id, index),
    chatId: run.chat_id,
    threadId: run.id,
    turnId: run.id,
    unattended: true,
  };
  if (tool.effect === 'once' && !(await beginOnce(deps.db, run.id, index))) {
    await clearUp(tool, checked.args, context);
    return refused(unknownOutcome('step'));
  }
  return await runTool(tool, tool.effect, checked.args, context);
}

/**
 * The parsed arguments, or why the routine step may not run. It is decided again now: the chat may trust the agent less
 * than when the routine was made.
 */
async function mayRun(
  { db }: RoutineDeps,
  run: RoutineRun,
  tool: Tool,
  { written, inputs }: { written: Args; inputs: Inputs },
  sources: readonly Source[],
): Promise<string | { args: Args }> {
  const [chat, access] = await Promise.all([chatAutonomy(db, run.chat_id), chatAccess(db, run.chat_id)]);
  const autonomy = chat?.autonomy ?? 'supervised';
  const closed = access && closedTo(tool, access);
  if (closed) return closed;
  const parsed = filledArgs(tool, written, inputs);
  if (!parsed.success) return `The stored arguments no longer fit ${tool.name}: ${parsed.error.message}`;
  const data = parsed.data as Args;
  if (decideUnattended(dangerOf(tool, data), autonomy) === 'refuse')
    return 'This step would need your yes now, and nobody can be asked while a routine runs.';
  const taint = await taintUnattended(db, run.chat_id, sources, tool, data);
  if (decideUnattended(tool.danger, autonomy, taint) === 'refuse')
    return `This step was not run. ${whyAsked(taint!)} Nobody can be asked while a routine runs: ask for it in the chat.`;
  return { args: data };
}

/**
 * The prompt of a schedule. It runs as a background task or as a turn of its chat, which the run waits for. A repeated
 * attempt finds what the first has begun.
 */
async function startPrompt(
  deps: RoutineDeps,
  run: RoutineRun,
  callId: string,
  args: PromptArgs,
  sources: readonly Source[],
): Promise<ToolOutcome> {
  if (args.context === 'group') return { ok: true, output: 'It begins when the chat is free.' };
  await startBackgroundTask(
    // ids of threads are random, so the key of their chats need not be secret
    { ...deps, secret: '' },
    {
      prompt: args.prompt,
      model: undefined,
      workspace: args.cwds[0],
      mode: undefined,
      allowShell: args.allow_shell,
      trustMode: false,
      autoApprove: args.auto_approve,
      runId: run.id,
      sources,
      key: { id: `run ${callId}`, fingerprint: callId },
    },
  );
  return { ok: true, output: 'The agent has begun.' };
}

/** The answer becomes the result of the step, once its turn is over. A repeated attempt stores the same. */
export async function endPrompt(
  deps: RoutineDeps,
  run: RoutineRun,
  index: number,
): Promise<{ over: boolean; ok: boolean }> {
  const { db } = deps;
  const ended = (await endOfTask(db, run.id)) ?? (await endInChat(deps, run, index));
  if (ended === 'goes on') return { over: false, ok: false };
  await replaceStep(db, run.id, index, ended);
  return { over: true, ok: ended.ok };
}

type PromptEnd = ToolOutcome | 'goes on';

async function endOfTask(db: Db, runId: string): Promise<PromptEnd | null> {
  const task = await taskOfRun(db, runId);
  if (!task) return null;
  if (['queued', 'running'].includes(task.status)) return 'goes on';
  const output = task.error ?? (await lastWordsOf(db, task.turn_id)) ?? `It was ${task.status}.`;
  return { ok: task.status === 'completed', output };
}

/** Of a prompt in the chat. The turn begins as soon as the chat is free. */
async function endInChat(deps: RoutineDeps, run: RoutineRun, index: number): Promise<PromptEnd> {
  const { db } = deps;
  const turn = await turnOfRun(db, run.id);
  if (turn?.status === 'in_progress') return 'goes on';
  if (turn) {
    const output = turn.error ?? (await lastWordsOf(db, turn.id)) ?? `It was ${turn.status}.`;
    return { ok: turn.status === 'completed', output };
  }
  const routine = await findRoutine(db, run.chat_id, run.routine_id);
  const args = routine?.steps[index]?.args as PromptArgs | undefined;
  if (!routine || args?.context !== 'group')
    return { ok: false, output: routine ? 'Its task is not there any more.' : 'It was deleted before it could begin.' };
  const { name, sources } = routine;
  await beginScheduledTurn(deps, { runId: run.id, chatId: run.chat_id, name, prompt: args.prompt, sources });
  return 'goes on';
}
