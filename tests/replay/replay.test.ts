import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { beforeAll, describe, expect, it } from 'vitest';
import { dataConverter } from '../../src/adapters/payloads/codec.ts';
import { payloadKeys } from '../../src/adapters/payloads/keys.ts';
import { buildWorkflowBundle } from '../../src/cli/roles/temporal/workflow-bundle.ts';
import { type HistoryEvent, type HistoryJson, privateParts } from './scrub.ts';

/** Runs that are open in the world continue on the code that is deployed next: what replays here replays there. */

interface Golden extends HistoryJson {
  name: string;
  workflowId: string;
}

const FOLDER = fileURLToPath(new URL('./histories/', import.meta.url));
/** `name`: release and scene, as in `0.1.0/conversation-plain-answer` */
const read = (file: string): Golden => ({
  name: file.replace('.json', ''),
  ...JSON.parse(readFileSync(join(FOLDER, file), 'utf8')),
});
const golden: Golden[] = readdirSync(FOLDER)
  .toSorted()
  .flatMap((release) => readdirSync(join(FOLDER, release)).map((file) => read(join(release, file))));
/** A scene as the newest release that has it recorded it. */
const named = (scene: string): Golden =>
  structuredClone(golden.findLast((history) => history.name.endsWith(`/${scene}`))!);

/** As in production: the histories are plain, and a worker with a key reads them. */
const CONVERTER = dataConverter(() => payloadKeys('11'.repeat(32)));

let workflowBundle: { code: string };
beforeAll(async () => {
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => {}),
    telemetryOptions: { logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } } },
  });
  workflowBundle = await buildWorkflowBundle();
});

async function replay(histories: Golden[]): Promise<Array<{ name: string; error?: Error }>> {
  const results: Array<{ name: string; error?: Error }> = [];
  const input = histories.map(({ workflowId, events }) => ({ workflowId, history: { events } }));
  for await (const { error } of Worker.runReplayHistories({ workflowBundle, dataConverter: CONVERTER }, input))
    results.push({ name: histories[results.length]!.name, error });
  return results;
}

/** Events that answer a command of the workflow carry the id of the workflow task that gave it. */
const isCommand = (event: HistoryEvent): boolean =>
  Object.values(event).some(
    (value) => typeof value === 'object' && value !== null && 'workflowTaskCompletedEventId' in value,
  );

/** Puts two commands of one workflow task, of different kinds, in the other order. */
function swapCommands(history: Golden): Golden {
  const at = history.events.findIndex((event, index) => {
    const next = history.events[index + 1];
    return next && isCommand(event) && isCommand(next) && event.eventType !== next.eventType;
  });
  const [first, second] = [history.events[at]!, history.events[at + 1]!];
  history.events[at] = { ...second, eventId: first.eventId };
  history.events[at + 1] = { ...first, eventId: second.eventId };
  return history;
}

function renameActivity(history: Golden, from: string, to: string): Golden {
  for (const event of history.events) {
    const scheduled = event.activityTaskScheduledEventAttributes as { activityType: { name: string } } | undefined;
    if (scheduled?.activityType.name === from) scheduled.activityType.name = to;
  }
  return history;
}

/** As if the code that ran had set no timer. */
function dropTimer(history: Golden): Golden {
  for (const event of history.events) {
    if (event.eventType !== 'EVENT_TYPE_TIMER_STARTED') continue;
    event.eventType = 'EVENT_TYPE_MARKER_RECORDED';
    const { workflowTaskCompletedEventId } = event.timerStartedEventAttributes as {
      workflowTaskCompletedEventId: string;
    };
    event.markerRecordedEventAttributes = { markerName: 'other', workflowTaskCompletedEventId };
    delete event.timerStartedEventAttributes;
  }
  return history;
}

describe('golden histories', () => {
  it('all replay on the workflow code of today', async () => {
    const failed = (await replay(golden))
      .filter(({ error }) => error)
      .map(({ name, error }) => `${name}: ${error?.message}`);
    expect(failed).toEqual([]);
  });

  it('cover every workflow that production can start', async () => {
    const exported = Object.keys(await import('../../src/workflows/index.ts'));
    const recorded = new Set(
      golden.map(
        (history) =>
          (history.events[0]!.workflowExecutionStartedEventAttributes as { workflowType: { name: string } })
            .workflowType.name,
      ),
    );
    expect([...recorded].sort()).toEqual(exported.sort());
  });

  it('cover a run that continued as new and one that was continued', () => {
    const last = named('conversation-continues-as-new').events.at(-1)!;
    expect(last.eventType).toBe('EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW');
    const started = named('conversation-continued').events[0]!.workflowExecutionStartedEventAttributes as {
      continuedExecutionRunId: string;
    };
    expect(started.continuedExecutionRunId).toBeTruthy();
  });

  it.each(golden.map((history) => [history.name, history] as const))(
    '%s holds nothing of the machine that recorded it',
    (_name, history) => {
      expect(privateParts(history)).toEqual([]);
    },
  );
});

describe('the gate', () => {
  it.each([
    [
      'a renamed activity of the conversation',
      () => renameActivity(named('conversation-plain-answer'), 'think', 'ponder'),
    ],
    [
      'a renamed activity of the routine',
      () => renameActivity(named('routine-completed'), 'runRoutineStep', 'runStep'),
    ],
    ['commands in another order', () => swapCommands(named('conversation-plain-answer'))],
    ['a timer that is no longer set', () => dropTimer(named('conversation-question-answered'))],
  ])('stops %s', async (_what, mutated) => {
    const [result] = await replay([mutated()]);
    expect(result?.error?.name).toBe('DeterminismViolationError');
  });
});
