import { lstat, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cancellationSignal } from '@temporalio/activity';
import { allowList } from '../../adapters/kennel/gate/egress/allow-list.ts';
import { workspaceIdentity } from '../../adapters/workspaces.ts';
import type { BaselineHostActivities, BaselineInput, CheckFound, ProjectLook } from '../../contracts/baseline.ts';
import type { HeadLook } from '../../contracts/workspace-ops.ts';
import { membersOf } from '../../domain/settings/shapes.ts';
import {
  argvFor,
  budgetOf,
  type Checked,
  checkedText,
  checkQuestion,
  commandsOf,
  flakyIn,
  lineOf,
  type PartResult,
  type ProjectProfile,
  wantedHosts,
} from '../../domain/tasks/checks/project-profile.ts';
import type { TestRun } from '../../domain/tasks/checks/verdict.ts';
import { type AskedHost, isTool } from '../../domain/tasks/egress.ts';
import { mirrorEnvironment, mirrorsOf } from '../../domain/tasks/registries/mirrors.ts';
import { CHECKED_MANAGERS, type Registry } from '../../domain/tasks/registries/registries.ts';
import { cacheSettings } from '../../domain/tasks/registries/registry-cache.ts';
import { quotedEvidence } from '../../domain/text/evidence.ts';
import { suffix } from '../../domain/text/storable.ts';
import type { Say } from '../../domain/texts/say.ts';
import { MINUTE } from '../../domain/time.ts';
import { type EgressRule, ruleFor, rulesOfTask } from '../../store/kennel/egress-rules.ts';
import { askToCheck, settleCheck, tellOfCheck } from '../../store/kennel/questions/baseline-questions.ts';
import {
  keepChecked,
  noteBegunCheck,
  noteFlaky,
  projectProfile,
} from '../../store/kennel/workspaces/project-profiles.ts';
import { keepTestRun } from '../../store/kennel/workspaces/test-runs.ts';
import { tasksIn } from '../../store/kennel/workspaces/workspaces.ts';
import { lacksPackages } from '../../tools/workspace/shell.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { fail } from '../failure.ts';
import { beating } from '../heartbeat.ts';
import { requireHeld } from '../lease.ts';
import { managersOf, namedRegistries } from '../task/named-registries.ts';
import { type Ran, runTests, type TestPlace } from '../task/run-tests.ts';
import { workspaceOf } from '../task/task-workspace.ts';

/** The check of a project on its host: on a copy of the commit that is checked out, with nothing installed before. */

/** How long a part may take of which nothing is known yet. */
const USUAL_MS = { install: 20 * MINUTE, build: 20 * MINUTE, types: 10 * MINUTE, lint: 10 * MINUTE, test: 15 * MINUTE };
/** Tests that take longer are not run a second time to find those that pass only sometimes. */
const AGAIN_MS = 10 * MINUTE;
const OUTPUT_BYTES = 1_000_000;
const KEPT_CHARS = 4_000;
const MOST_FAILING = 50;

interface Project extends Pick<KennelDeps, 'config' | 'db' | 'kennel' | 'gate'> {
  input: BaselineInput;
  /** its folder on this host */
  path: string;
  profile: ProjectProfile;
}

export function createBaselineHost(deps: KennelDeps): BaselineHostActivities {
  const onProject = <O>(run: (project: Project) => Promise<O>) =>
    beating(async (input: BaselineInput): Promise<O> => {
      const { config, db, kennel, gate } = deps;
      requireHeld(deps, { id: input.baselineId, host: input.host });
      await noteBegunCheck(db, input, input.round);
      const path = workspaceOf(config, input);
      if (!(await lstat(path).catch(() => null))?.isDirectory())
        throw fail('NotFound', `The project ${input.workspace} is not there any more.`);
      await kennel.ready();
      await kennel.provide('tools', () => {}, AbortSignal.any([cancellationSignal(), deps.draining]));
      // of an attempt whose process was killed
      await kennel.endCommand(labelOf(input));
      return await run({ config, db, kennel, gate, input, path, profile: await projectProfile(db, input) });
    });
  return {
    lookAtProject: onProject(look),
    checkProject: onProject(check),
  };
}

const labelOf = ({ baselineId }: BaselineInput): string => `${baselineId} check`;

/** Does something with a copy of the commit that is checked out; null where there is none. */
async function onCopy<T>({ kennel, path, input }: Project, work: (look: HeadLook) => Promise<T>): Promise<T | null> {
  const key = input.baselineId;
  try {
    const made = await kennel.workspaceOp(path, { op: 'head', action: 'copy', key });
    return made.ok ? await work(made.data as unknown as HeadLook) : null;
  } finally {
    await kennel.workspaceOp(path, { op: 'base', action: 'remove', key }).catch(() => {});
  }
}

/** Somebody wants this check, and no task is at work in the project. */
const isAlone = async ({ db, input }: Project): Promise<boolean> =>
  input.asks && (await tasksIn(db, { host: input.host, name: input.workspace })).length === 0;

async function registriesNow({ config, kennel, path, input }: Project): Promise<Registry[]> {
  const managers = [...(await managersOf(path)), ...CHECKED_MANAGERS];
  const label = labelOf(input);
  return await namedRegistries({ config, kennel }, { workspace: path, base: input.baselineId, label, managers });
}

const rulesOf = ({ db, input }: Project): Promise<EgressRule[]> =>
  rulesOfTask(db, { id: input.baselineId, host: input.host, workspace: input.workspace });

/** Those hosts that nobody has allowed or forbidden to this project. */
async function undecidedOf<A extends AskedHost>(project: Project, hosts: A[]): Promise<A[]> {
  const isAllowed = allowList(await allowedHosts(project));
  const rules = await rulesOf(project);
  return hosts.filter((at) => !isAllowed(at) && ruleFor(rules, at)?.allowed !== false);
}

/** The hosts that people or the settings allow to this project. */
async function allowedHosts(project: Project): Promise<string[]> {
  const { config } = project;
  const rules = await rulesOf(project);
  const allowed = rules.filter((rule) => rule.allowed && !isTool(rule) && ruleFor(rules, rule) === rule);
  return [
    ...membersOf(config.FETCH_KENNEL_EGRESS),
    // an address of IPv6 has no entry in a list of hosts
    ...allowed.filter(({ host }) => !host.includes(':')).map(({ host, port }) => `${host}:${port}`),
  ];
}

async function look(project: Project): Promise<ProjectLook> {
  const { config, db, kennel, path, input, profile } = project;
  const missing = await onCopy(project, async ({ project: found, dependencies }) => {
    const { install, build, test } = commandsOf(found, { said: profile.said });
    if (!install && !build && !test) return null;
    const [environment, named] = await Promise.all([kennel.undecided(path), registriesNow(project)]);
    const registries = await undecidedOf(project, named);
    const isNamed = ({ host, port }: AskedHost) => registries.some((at) => at.host === host && at.port === port);
    const wanted = await undecidedOf(project, wantedHosts(profile.checked, dependencies));
    return { environment, registries, wanted: wanted.filter((at) => !isNamed(at)) };
  });
  if (!missing) {
    const { workspace } = input;
    const text = (say: Say) => say('check.unknown', { workspace });
    return { what: 'nothing', outboxId: input.asks ? await tellOfCheck(db, input, { text, quotes: false }) : null };
  }
  const { environment, registries, wanted } = missing;
  if (!environment && registries.length === 0 && wanted.length === 0) return { what: 'ready' };
  // a task asks for what it needs itself, and two questions about one thing are one too many
  if (!(await isAlone(project))) {
    const { checked } = profile;
    const isDue = input.asks && checked !== null && wanted.length > 0;
    return { what: 'nothing', outboxId: isDue ? await tellChecked(project, checked, []) : null };
  }
  const asked = await askToCheck(db, input, {
    prompt: (say) =>
      checkQuestion(
        {
          workspace: input.workspace,
          registries,
          wanted,
          environment: environment?.file ?? null,
          own: mirrorsOf(config.FETCH_KENNEL_MIRRORS),
        },
        say,
      ),
    ...(environment && { evidence: quotedEvidence(environment.text) }),
    quotes: environment !== null || wanted.length > 0,
    registries: [...registries, ...wanted],
    environment: environment?.hash ?? null,
  });
  return asked ?? { what: 'nothing', outboxId: null };
}

async function check(project: Project & { input: { isLast?: true } }): Promise<CheckFound> {
  const { db, kennel, input, profile: before } = project;
  const agreed = await settleCheck(db, input);
  if (agreed?.environment) await kennel.decide(agreed.environment, true);
  const found = await onCopy(project, (look) => checkCopy(project, look));
  if (!found) return null;
  const { checked, flaky } = found;
  await keepChecked(db, input, checked);
  await noteFlaky(db, input, flaky);
  const wanted = await undecidedOf(project, wantedHosts(checked, checked.dependencies));
  if (wanted.length > 0 && !input.isLast && (await isAlone(project))) return { wantsHosts: true };
  const worse = Object.entries(checked.parts).some(
    ([part, { ok }]) => !ok && before.checked?.parts[part as keyof Checked['parts']]?.ok,
  );
  return input.asks || worse ? await tellChecked(project, checked, flaky) : null;
}

function tellChecked({ db, input }: Project, checked: Checked, flaky: string[]): Promise<string> {
  const quotes = Object.values(checked.parts).some(({ ok }) => !ok) || flaky.length > 0;
  return tellOfCheck(db, input, {
    text: (say) => checkedText(input.workspace, checked, flaky, say),
    quotes,
  });
}

async function checkCopy(project: Project, look: HeadLook): Promise<{ checked: Checked; flaky: string[] }> {
  const { config, db, kennel, gate, path, input, profile } = project;
  const folder = join(config.FETCH_HOME, 'kennel', 'checks', input.baselineId);
  const home = join(folder, 'home');
  await rm(folder, { recursive: true, force: true });
  const { image } = await kennel.provide('tools', () => {}, cancellationSignal(), path);
  const registries = new Map(
    (await registriesNow(project)).flatMap(({ manager, address }) => (address ? [[manager, address] as const] : [])),
  );
  const way = await gate.openWay(config.FETCH_HOME, await allowedHosts(project));
  try {
    const cache = config.FETCH_REGISTRY_CACHE_MB === 0 ? null : cacheSettings(registries);
    for (const [name, text] of Object.entries(cache?.files ?? {})) await writeFile(join(way.folder, name), text);
    const at: TestPlace = {
      workspace: path,
      base: input.baselineId,
      home,
      gate: way.folder,
      // Go makes folders that nobody may remove otherwise
      env: {
        CI: 'true',
        GOFLAGS: '-modcacherw',
        ...cache?.variables,
        ...mirrorEnvironment(config.FETCH_KENNEL_MIRRORS, cache !== null),
      },
      label: labelOf(input),
    };
    const parts = await partsOf(project, look, at);
    const tested = parts.install?.ok === false ? null : await testsOf(project, look, at);
    if (tested) parts.test = tested.part;
    // later commands there have no network
    if (parts.install?.ok !== false) await kennel.keepFetched(path, home).catch(() => {});
    if (parts.install?.ok && (await isAlone(project)))
      await kennel.workspaceOp(path, { op: 'base', action: 'give', key: input.baselineId }).catch(() => {});
    const environment = image;
    const workspace = await workspaceIdentity(path);
    if (tested && isConclusive(tested.run))
      await keepTestRun(db, { workspace, tree: look.tree, environment }, tested.run);
    const refused = way.refused().map(({ host, port }) => ({ host, port }));
    const checked: Checked = {
      commit: look.commit,
      dependencies: look.dependencies,
      at: new Date().toISOString(),
      parts,
      tests: tested?.counts ?? null,
      ...(refused.length > 0 && { refused }),
    };
    return { checked, flaky: (tested?.flaky ?? []).filter((name) => !profile.flaky.includes(name)) };
  } finally {
    await way.close();
    await rm(folder, { recursive: true, force: true }).catch(() => {});
  }
}

const isConclusive = ({ state, cut }: TestRun): boolean => state !== 'no runner' && !cut;

/** Installs, builds, checks types and lints. What cannot be installed is not built. */
async function partsOf(
  { kennel, profile }: Project,
  { project }: HeadLook,
  { label, ...at }: TestPlace,
): Promise<Checked['parts']> {
  const parts: Checked['parts'] = {};
  for (const part of ['install', 'build', 'types', 'lint'] as const) {
    const argv = argvFor(part, project, profile.said);
    if (!argv) continue;
    const timeoutMs = budgetOf(profile.checked?.parts[part]?.ms, USUAL_MS[part]);
    const began = performance.now();
    const ran = await kennel.command({
      ...at,
      environment: true,
      argv,
      timeoutMs,
      maxOutput: OUTPUT_BYTES,
      label,
      signal: cancellationSignal(),
    });
    const output = `${ran.stdout}\n${ran.stderr}${ran.timedOut ? '\n[stopped: it took too long]' : ''}`.trim();
    // a checker that the image and the packages do not have says nothing of the project
    if (ran.code !== 0 && (part === 'types' || part === 'lint') && lacksPackages(output, ran.code)) continue;
    parts[part] = partOf(argv, ran.code === 0, performance.now() - began, output);
    if (part === 'install' && ran.code !== 0) break;
  }
  return parts;
}

const partOf = (argv: readonly string[], ok: boolean, ms: number, output: string): PartResult => ({
  command: lineOf(argv),
  ok,
  ms: Math.round(ms),
  ...(!ok && { output: suffix(output, KEPT_CHARS) }),
});

interface Tested {
  part: PartResult;
  run: TestRun;
  counts: Checked['tests'];
  flaky: string[];
}

/** Runs the tests, and once more where some fail: what passes then passes only sometimes. */
async function testsOf({ kennel, profile }: Project, { project }: HeadLook, at: TestPlace): Promise<Tested | null> {
  const argv = argvFor('test', project, profile.said);
  if (!argv) return null;
  const timeoutMs = budgetOf(profile.checked?.parts.test?.ms, USUAL_MS.test);
  const once = (): Promise<Ran> => runTests({ kennel }, at, { argv, timeoutMs });
  const { run, output } = await once();
  const failing = failingIn(run);
  const again = failing.length > 0 && run.ms < AGAIN_MS ? (await once()).run : null;
  const flaky = again ? flakyIn([run, again]) : [];
  const firm = failing.filter((name) => !flaky.includes(name));
  const ok = run.code === 0 || (failing.length > 0 && firm.length === 0);
  const count = (outcome: string) => run.cases.filter((each) => each.outcome === outcome).length;
  const counts =
    run.cases.length === 0
      ? null
      : {
          passed: count('passed') + flaky.length,
          failed: firm.length,
          skipped: count('skipped'),
          failing: firm.slice(0, MOST_FAILING),
        };
  return { part: partOf(argv, ok, run.ms, output), run, counts, flaky };
}

const failingIn = ({ cases }: TestRun): string[] =>
  cases.flatMap(({ name, outcome }) => (outcome === 'failed' ? [name] : []));
