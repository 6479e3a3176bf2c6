import { hasModel, imageOf } from '../../../kennel/agents/registry.ts';
import { runFolder } from '../../adapters/kennel/run-folders.ts';
import type { Config } from '../../config.ts';
import { type Command, INSIDE } from '../../contracts/kennel.ts';
import type { BeginInput } from '../../contracts/task.ts';
import { commandsOf, profileForAgent } from '../../domain/tasks/checks/project-profile.ts';
import { AGREED, agreedPlan, changePlan, PLAN_FIRST, planInWords, STILL_PLANNING } from '../../domain/tasks/plan.ts';
import { ABOUT_COMMIT } from '../../domain/tasks/report.ts';
import { ABOUT_SETUP } from '../../domain/tasks/setup.ts';
import { hostsAnswered } from '../../store/kennel/questions/egress-questions.ts';
import { type WordsToPlan, wordsToPlan } from '../../store/kennel/questions/task-plans.ts';
import { findQuestion, taskQuestionId } from '../../store/kennel/questions/task-questions.ts';
import { endedWell, unsettledLine } from '../../store/kennel/tasks/task-log.ts';
import { type TaskWords, unheardWords, wordsOfTask } from '../../store/kennel/tasks/task-words.ts';
import type { Task } from '../../store/kennel/tasks/tasks.ts';
import { projectProfile } from '../../store/kennel/workspaces/project-profiles.ts';
import { profileOfWorkspace } from '../../store/kennel/workspaces/workspaces.ts';
import type { Db } from '../../store/postgres/database.ts';
import { isAllowed, type Question } from '../../store/turns/questions/questions.ts';
import { fail } from '../failure.ts';
import { readLog, sendCommand } from './run/folder.ts';

/** What decides what a run is told of its plan. */
interface Known {
  /** what the person said to the plan, when this run is the first after it */
  said: WordsToPlan | null;
  /** the agent has heard the answers to its own questions */
  heard: boolean;
  /** the session knows the plan */
  knows: boolean;
}

/** What the agent is told of its plan in this run; nothing for a task without one. */
export function aboutPlan(
  { plan }: Pick<Task, 'plan'>,
  { plan: plans }: Pick<BeginInput, 'plan'>,
  { said, heard, knows }: Known,
): string[] {
  const whole = plan && !knows ? [planInWords(plan, plans ? 'so far' : 'agreed')] : [];
  if (plans) {
    if (!heard) return [STILL_PLANNING];
    return [...whole, said?.decision === 'answered' ? changePlan(said.words) : PLAN_FIRST];
  }
  if (!plan) return [];
  return [...whole, said ? agreedPlan(said.changes) : AGREED];
}

/** What an agent is told: its prompt at the beginning of a run, and the answers to its questions. */

interface Stores {
  db: Db;
  config: Config;
}

const NOBODY = 'Nobody answered in time. Go on without it where that is safe, or say what is missing.';

/** Writes a decision where the runner of this run reads it. */
export async function passOn({ db, config }: Stores, task: Task, step: number, questionId: string): Promise<void> {
  const question = await findQuestion(db, questionId);
  if (!question) throw fail('NotFound', `Question ${questionId} is not in the database.`);
  // a decision that is not stored does not count: the agent keeps waiting
  if (question.state === 'open') return;
  const asked = questionId.slice(task.id.length + 1);
  const id = `${questionId}_${step}`;
  const command: Command =
    question.kind === 'approval'
      ? { id, step, type: 'permit', permissionId: asked, decision: isAllowed(question) ? 'allow' : 'deny' }
      : { id, step, type: 'answer', questionId: asked, answer: question.answer ?? NOBODY };
  await sendCommand(runFolder(config, task.id), command);
}

/** Words as a prompt. An agent without a model takes every word literally. */
function textOf({ harness, planning }: Pick<Task, 'harness' | 'planning'>, words: TaskWords): string {
  if (!hasModel(harness)) return words.of_tests ? 'repair' : words.text;
  return [...wordsInPrompt([words]), ...(planning ? [STILL_PLANNING] : [])].join('\n\n');
}

function wordsInPrompt(words: readonly TaskWords[]): string[] {
  const [ofTests, said] = [true, false].map((of) => words.filter(({ of_tests }) => of_tests === of));
  return [
    ...(said!.length > 0 ? [`The person adds:\n${said!.map(({ text }) => text).join('\n\n')}`] : []),
    // of an earlier pass, the output is old
    ...ofTests!.slice(-1).map(({ text }) => text),
  ];
}

/** Writes words of the person where the runner of this run reads them. Each counts once in a run. */
export async function passWords(
  { config }: Pick<Stores, 'config'>,
  task: Task,
  step: number,
  words: readonly TaskWords[],
): Promise<void> {
  for (const each of words)
    await sendCommand(runFolder(config, task.id), {
      id: `${each.id}_${step}`,
      step,
      type: 'tell',
      wordsId: each.id,
      text: textOf(task, each),
    });
}

/** The decided question whose answer the agent has not acknowledged, because its session ended first. */
export async function unheardAnswer(db: Db, task: Task): Promise<Question | undefined> {
  const line = await unsettledLine(db, task.id);
  const question = line ? await findQuestion(db, taskQuestionId(task.id, line.id)) : undefined;
  return question && question.state !== 'open' ? question : undefined;
}

/**
 * `unheard`: an answer that the agent has not heard. `setup`: what became of a script that it proposed.
 * `restartPrompt`: for a session of its own when the one to resume is lost. `words`: ids of what the person said
 * meanwhile, which both prompts have.
 */
export async function promptsOfRun(
  { db, config }: Stores,
  task: Task,
  input: BeginInput,
  { unheard, setup, skills }: { unheard: Question | undefined; setup: string | null; skills: readonly string[] },
): Promise<Record<'prompt' | 'restartPrompt', string> & { words: string[] }> {
  const said = await wordsToPlan(db, task);
  const answered = setup ?? (await hostsAnswered(db, task));
  // an agent without a model takes every word literally
  if (!hasModel(task.harness)) {
    const prompt =
      unheard?.kind === 'question'
        ? (unheard.answer ?? NOBODY)
        : said?.decision === 'answered'
          ? said.words
          : task.goal;
    // what else a person says is a prompt of its own
    await passWords({ config }, task, input.step, await unheardWords(db, task.id));
    return { prompt, restartPrompt: prompt, words: [] };
  }
  const about = { skills, project: await aboutProject(db, task), browser: config.FETCH_BROWSER_SLOTS > 0 };
  const words = await wordsOfTask(db, task.id);
  const fresh = words.filter(({ heard_step }) => heard_step === null);
  // after the end of a turn, what the person has said meanwhile is all that is new
  const ended = task.session_id !== null && fresh.length > 0 && (await endedWell(db, task.id, input.step - 1));
  // a session that knows the plan is told only what the person says to it
  const before =
    (said && !unheard && task.session_id) || (ended && !unheard && !answered)
      ? []
      : [
          answered && !unheard && task.session_id
            ? answered
            : await promptOfRun(config, task, input, { unheard, ...about }),
        ];
  const prompt = [
    ...before,
    ...aboutPlan(task, input, { said, heard: !unheard, knows: task.session_id !== null }),
    ...wordsInPrompt(task.session_id ? fresh : words),
  ].join('\n\n');
  const restartPrompt = [
    onceMore(task, about),
    ...aboutPlan(task, input, { said, heard: true, knows: false }),
    ...wordsInPrompt(words),
    ...(unheard ? before : []),
  ].join('\n\n');
  return { prompt, restartPrompt, words: fresh.map(({ id }) => id) };
}

async function promptOfRun(
  config: Config,
  task: Task,
  input: BeginInput,
  { unheard, ...about }: { unheard: Question | undefined } & About,
): Promise<string> {
  if (unheard?.kind === 'approval')
    return isAllowed(unheard)
      ? `${unheard.prompt}\nThe person has allowed it. Go on.`
      : `${unheard.prompt}\nThe person has not allowed it. Go on without it, or say what that means.`;
  if (unheard) return `You asked: ${unheard.prompt}\nThe person answers: ${unheard.answer ?? NOBODY}\nGo on.`;
  if (input.step === 1) return whole(task, about);
  if (task.session_id) return 'You were interrupted. Look at what is done already, and go on where you stopped.';
  const begun = (await readLog(runFolder(config, task.id), 0)).lines.length > 0;
  return begun ? onceMore(task, about) : whole(task, about);
}

/** What every agent is told besides its goal. */
interface About {
  /** names */
  skills: readonly string[];
  /** how the project is worked on; empty when nothing is known but its files */
  project: string;
  /** whether the chat has a browser */
  browser: boolean;
}

async function aboutProject(db: Db, { host, workspace }: Task): Promise<string> {
  const at = { host, workspace };
  const [known, found] = await Promise.all([projectProfile(db, at), profileOfWorkspace(db, { host, name: workspace })]);
  return profileForAgent(commandsOf(found, known), known);
}

const whole = (task: Task, { skills, project, browser }: About): string =>
  [
    task.goal,
    ...(task.material === null ? [] : [task.material]),
    ...(project ? [project] : []),
    ...(imageOf(task.harness) ? [] : [ABOUT_SETUP, ...(browser ? [ABOUT_BROWSER] : [])]),
    ABOUT_COMMIT,
    ...(skills.length > 0 ? [aboutSkills(skills)] : []),
  ].join('\n\n');

/** An agent cannot know it otherwise. */
const ABOUT_BROWSER =
  '(For a page that needs a browser: `agent-browser open URL`, then `agent-browser snapshot -i`, `click @e1`, `fill @e1 TEXT`, `get text @e1`, `screenshot FILE`. It is the browser of the chat, so the person may be asked first: then look again later.)';

const aboutSkills = (names: readonly string[]): string =>
  `The person has written down how to do some things, in ${INSIDE.skills}: ${names.join(', ')}. Read the SKILL.md of one before you do what it is about. Its files lie beside it, read only.`;

const onceMore = (task: Task, about: About): string =>
  `${whole(task, about)}\n\n(An earlier attempt at this was interrupted: look at what is done already before you go on.)`;
