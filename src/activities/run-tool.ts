import { activityInfo, cancellationSignal } from '@temporalio/activity';
import type { Effect } from '../contracts/conversation.ts';
import type { TaskInput } from '../contracts/task.ts';
import { isServerAway, taskInput } from '../gateway/intake/signal.ts';
import { isOver, taskOfCall } from '../store/kennel/tasks/tasks.ts';
import { isMainChat } from '../store/owner/memories.ts';
import { toolCalls, toolSeconds } from '../telemetry/metrics.ts';
import { annotate } from '../telemetry/tracing.ts';
import { tools } from '../tools/registry.ts';
import { endedByRestart, MAIN_ONLY, restarted, type Tool, type ToolContext, type ToolOutcome } from '../tools/tool.ts';
import type { ActivityDeps } from './activity-deps.ts';
import { isStoreAway } from './failure.ts';

/** The common part of a call of the model and a routine step. */

/** After this many attempts, the error of a tool that may run again becomes its result. */
const ATTEMPTS = 4;

/**
 * Runs a tool within its time limit. A failure of the tool becomes its result. A failure around the tool is thrown and
 * retried.
 */
export async function runTool(
  tool: Tool,
  effect: Effect,
  args: Record<string, unknown>,
  context: Omit<ToolContext, 'signal'>,
): Promise<ToolOutcome> {
  const begun = performance.now();
  try {
    const outcome = await runInTime(tool, effect, args, context);
    countCall(tool.name, outcome.ok ? 'ok' : 'failed');
    return outcome;
  } catch (error) {
    countCall(tool.name, 'retried');
    throw error;
  } finally {
    toolSeconds.observe({}, (performance.now() - begun) / 1000);
  }
}

/** Names of added tools are untrusted and unlimited, so all of them share one label. */
export function countCall(name: string, outcome: 'ok' | 'failed' | 'retried' | 'unknown'): void {
  const tool = tools.has(name) ? name : 'added';
  toolCalls.add({ tool, outcome });
  annotate({ 'fetch.tool': tool, 'fetch.outcome': outcome });
}

async function runInTime(
  tool: Tool,
  effect: Effect,
  args: Record<string, unknown>,
  context: Omit<ToolContext, 'signal'>,
): Promise<ToolOutcome> {
  const cancelled = cancellationSignal();
  const limit = timeLimit(tool.timeoutMs);
  const signal = AbortSignal.any([cancelled, limit.signal]);
  const failed = (why: string): ToolOutcome => ({ ok: false, output: why });
  // what was allowed when it was asked may be allowed no longer
  if (tool.mainOnly?.(args as never) && !(await isMainChat(context.db, context.chatId, context.config)))
    return failed(MAIN_ONLY);
  try {
    return await tool.run(args as never, { ...context, signal });
  } catch (error) {
    const { message } = error as Error;
    if (endedByRestart(cancelled) && effect === 'once') return failed(restarted(tool.name));
    if (cancelled.aborted) throw error;
    if (signal.aborted)
      return failed(`${tool.name} took longer than ${Math.round(tool.timeoutMs / 1000)} s and was stopped.`);
    // it may have had its effect before it threw, and must not run again
    if (effect === 'once') return failed(`${tool.name} failed: ${message}. Whether it had an effect is unknown.`);
    // an outage of our own servers says nothing about the tool, so the call is retried
    if (isStoreAway(error) || isServerAway(error)) throw error;
    if (activityInfo().attempt >= ATTEMPTS) return failed(`${tool.name} failed: ${message}`);
    throw error;
  } finally {
    limit.clear();
  }
}

/** Clears up after a call that is not repeated. What fails here changes nothing in what the person is told. */
export async function clearUp(
  tool: Tool | undefined,
  args: Record<string, unknown>,
  context: Omit<ToolContext, 'signal'>,
): Promise<void> {
  await tool?.interrupted?.(args as never, { ...context, signal: cancellationSignal() }).catch(() => {});
}

/** `AbortSignal.timeout` cannot be cleared: each would fire, with a stack trace, long after its call ended. */
function timeLimit(ms: number): { signal: AbortSignal; clear: () => void } {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new DOMException('The tool took too long.', 'TimeoutError')), ms);
  return { signal: controller.signal, clear: () => clearTimeout(timer) };
}

/** The task that a call created and whose workflow must start. A retried call finds it again. */
export async function taskMadeBy(
  { db, config }: Pick<ActivityDeps, 'db' | 'config'>,
  call: { id: string; name: string },
  ok: boolean,
): Promise<{ task?: TaskInput }> {
  if (!ok || !tools.get(call.name)?.startsTask) return {};
  const task = await taskOfCall(db, call.id);
  return task && !isOver(task.state) ? { task: await taskInput(db, config, task) } : {};
}
