import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { cancellationSignal } from '@temporalio/activity';
import { allowList } from '../../adapters/kennel/gate/egress/allow-list.ts';
import type { Prepared } from '../../contracts/task.ts';
import { membersOf } from '../../domain/setting-lists.ts';
import { shownHost } from '../../domain/tasks/egress.ts';
import { mirrorEnvironment, mirrorsOf } from '../../domain/tasks/registries/mirrors.ts';
import { MANIFESTS, REGISTRIES_SCRIPT, registriesIn } from '../../domain/tasks/registries/registries.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { managersDecided, wantRegistries } from '../../store/kennel/questions/egress-questions.ts';
import { wordsToPlan } from '../../store/kennel/questions/task-plans.ts';
import type { Task } from '../../store/kennel/tasks/tasks.ts';
import type { Db } from '../../store/postgres/database.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { workspaceOf } from './task-workspace.ts';

const READ_MS = 30_000;

/**
 * Before the first run of a task that can write: the question about the registries of its project that nobody has
 * decided yet. Null when there is none. A project whose settings cannot be read, or have changed since a person
 * decided, is asked about when a program wants a host.
 */
export async function registriesToAsk(deps: KennelDeps, task: Task): Promise<Prepared['hosts'] | null> {
  const { config, db, kennel, log } = deps;
  const workspace = workspaceOf(config, task);
  if (!(await isBeforeWork(db, task))) return null;
  const decided = await managersDecided(db, task);
  const managers = (await managersOf(workspace)).filter((manager) => !decided.has(manager));
  if (managers.length === 0) return null;
  const mirrors = mirrorsOf(config.FETCH_KENNEL_MIRRORS);
  const listed = allowList(membersOf(config.FETCH_KENNEL_EGRESS));
  try {
    const { stdout } = await kennel.command({
      workspace,
      readOnly: true,
      // pip and Go are there alone
      environment: true,
      argv: ['bash', '-c', REGISTRIES_SCRIPT],
      env: {
        ...mirrorEnvironment(config.FETCH_KENNEL_MIRRORS),
        FETCH_MANAGERS: managers.join(' '),
        FETCH_SERVICES: '',
      },
      timeoutMs: READ_MS,
      maxOutput: 20_000,
      label: `${task.id} registries`,
      signal: cancellationSignal(),
    });
    const found = registriesIn(stdout, ({ host, port }) =>
      mirrors.some((mirror) => mirror.plain && mirror.host === host && mirror.port === port),
    );
    const questionId = await wantRegistries(db, task, found, listed);
    const title = config.FETCH_UI_TEXT === 'on' ? inline(found.map(shownHost).join(', '), 60) : 'its registries';
    return questionId === null ? null : { questionId, title };
  } catch (error) {
    cancellationSignal().throwIfAborted();
    log?.warn({ task: task.id, error: (error as Error).message }, 'the registries of a project could not be read');
    return null;
  }
}

/** No run that can write has begun, and the plan, if there is one, is agreed to. */
async function isBeforeWork(db: Db, task: Task): Promise<boolean> {
  return task.planning ? (await wordsToPlan(db, task))?.decision === 'allow' : task.step === 0;
}

/** The package managers that have something to load. Looks at names alone, and follows no link. */
async function managersOf(workspace: string): Promise<string[]> {
  const found = await Promise.all(
    Object.entries(MANIFESTS).map(([name, manager]) =>
      lstat(join(workspace, name)).then(
        (entry) => (entry.isFile() ? [manager] : []),
        () => [],
      ),
    ),
  );
  return [...new Set(found.flat())];
}
