import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { isLocalEndpoint } from '../../../adapters/model/endpoint/endpoint.ts';
import {
  type ModelAnswer,
  ModelError,
  type ModelMessage,
  type ModelRequest,
  type ModelTool,
} from '../../../adapters/model/model.ts';
import { promptChars } from '../../../adapters/model/request/ask.ts';
import { hasPictures } from '../../../adapters/model/request/pictures.ts';
import type { Config } from '../../../config.ts';
import { ASK_USER, type StepUsage, type ThinkInput, type ThinkResult } from '../../../contracts/conversation.ts';
import { stepKey } from '../../../contracts/ids.ts';
import { fittedTo, shownWithin, toModelMessages } from '../../../domain/chat/context/context.ts';
import { type Family, openedBy, withOpened } from '../../../domain/chat/tool-families.ts';
import { type AskedLeave, asksLeaveOnly, DECIDE_YOURSELF } from '../../../domain/consent/leave.ts';
import { accessOf } from '../../../domain/consent/policy.ts';
import { unionOf } from '../../../domain/consent/taint.ts';
import { describeTime } from '../../../domain/cron.ts';
import {
  budgetWithin,
  contextIn,
  type RequestBudget,
  requestTokens,
  tooSmallText,
} from '../../../domain/model/context-size.ts';
import { costOf } from '../../../domain/model/price-book.ts';
import { isNote, note } from '../../../domain/text/foreign-text.ts';
import { languageOf } from '../../../domain/texts/language.ts';
import { sayIn } from '../../../domain/texts/say.ts';
import { MINUTE } from '../../../domain/time.ts';
import { reachOf } from '../../../store/chats/shares.ts';
import { isMainChat } from '../../../store/owner/memories.ts';
import type { Db } from '../../../store/postgres/database.ts';
import type { CheckedCall } from '../../../store/turns/steps/new-calls.ts';
import type { StepSubject } from '../../../store/turns/steps/step-subject.ts';
import { storeAnswer } from '../../../store/turns/steps/steps.ts';
import { type History, loadHistory } from '../../../store/turns/steps/transcript.ts';
import { keepForTurn, skillsAmong } from '../../../store/turns/turn-extensions.ts';
import { addedTools } from '../../../tools/added-tools.ts';
import { familiesCalled, MOST_TOOLS, type Offer, offeredTools, openingWords } from '../../../tools/offer.ts';
import { tools } from '../../../tools/registry.ts';
import { MAIN_ONLY } from '../../../tools/tool.ts';
import type { ActivityDeps } from '../../activity-deps.ts';
import { fittingHistory } from '../context/compact.ts';
import { type PromptFacts, promptFacts, systemPrompt } from '../context/prompt.ts';
import { sourcesOf, withTaint, wordsNow } from '../context/provenance.ts';
import { checkCall, refusedCall, routeToKennel } from './check-calls.ts';
import { endOf, isEmpty, loopsOf } from './ends.ts';
import { type Judging, judgeCalls } from './judge.ts';
import { StepStream } from './step-stream.ts';
import { answerWithoutModel } from './words.ts';

/** A request is made this many times, smaller each time, while the endpoint says that it is too long. */
const MOST_TRIES = 3;
/** An endpoint that refuses a request made for its context counts more tokens than were estimated. */
const SMALLER = 0.75;

/**
 * Asks one model and stores its answer. Asks again with a smaller request when the endpoint takes less than expected,
 * and keeps the size that its refusal names.
 */
export async function answerWith(
  deps: ActivityDeps,
  modelName: string,
  input: ThinkInput,
  subject: StepSubject,
  first: History,
): Promise<ThinkResult> {
  const most = deps.config.FETCH_CONTEXT_TOKENS;
  const { contextTokens, maxTools } = await deps.model.facts(modelName);
  let context = contextTokens;
  let budget = budgetWithin(context, most);
  let history = first;
  for (let nth = 1; ; nth++) {
    try {
      return await answerOnce(deps, { modelName, nth, budget, maxTools, input, subject }, history);
    } catch (error) {
      if (!(error instanceof ModelError && error.type === 'ContextOverflow')) throw error;
      const named = contextIn(error.message);
      const isNew = named !== null && named !== context;
      if (isNew) await deps.model.learn(modelName, { contextTokens: named });
      context = named ?? context;
      if (nth === MOST_TRIES) throw tooSmall(error, context, deps.model.baseUrl);
      budget = smaller(
        budget,
        context,
        isNew ? { share: 1, most } : { share: SMALLER ** nth, most: Math.floor(budget.history / 2) },
      );
      history = await loadHistory(deps.db, input.threadId);
    }
  }
}

/**
 * After a refusal that teaches a size, the request is made for it. After any other, less is sent than was thought to
 * fit.
 */
const smaller = (
  { history }: RequestBudget,
  context: number | undefined,
  { share, most }: { share: number; most: number },
): RequestBudget =>
  context === undefined ? budgetWithin(undefined, Math.floor(history / 4)) : budgetWithin(context * share, most);

/** A refused request whose size is known. */
class TooLong extends ModelError {
  /** estimated tokens */
  readonly needed: number;

  constructor(cause: ModelError, needed: number) {
    super(cause.type, cause.message, { cause, status: cause.status });
    this.needed = needed;
  }
}

function tooSmall(error: ModelError, context: number | undefined, baseUrl: string): ModelError {
  const needed = error instanceof TooLong ? error.needed : undefined;
  return new ModelError(
    'ContextOverflow',
    tooSmallText(error.message, { context, needed, local: isLocalEndpoint(baseUrl) }),
    { cause: error },
  );
}

interface Asking {
  modelName: string;
  /** the first request of this attempt, or a smaller one behind it */
  nth: number;
  budget: RequestBudget;
  /** how many tools the endpoint takes, where that is known */
  maxTools?: number | undefined;
  input: ThinkInput;
  subject: StepSubject;
}

async function answerOnce(deps: ActivityDeps, asking: Asking, loaded: History): Promise<ThinkResult> {
  const { threadId, turnId } = asking.input;
  const key = [stepKey(turnId, asking.input.step), activityInfo().attempt, asking.modelName, asking.nth] as const;
  const fitting = await fitHistory(deps, asking, loaded);
  const { history } = fitting;
  const offer = await offerOf(deps.db, asking, fitting);
  const loops = loopsOf(history, offer.added);
  const stream = new StepStream(deps.db, { threadId, turnId }, key, { hides: asking.subject.turn.run_id !== null });
  try {
    const messages = messagesOf(deps, asking, fitting, offer.skills, loops.told);
    const asked = await (loops.ends ? askForEnd : askForAnswer)(deps, asking, messages, offer, stream);
    await stream.endReasoning();
    const { answer, refusal, note: told } = endOf(asked.answer, { history, loops: loops.ends });
    const { calls, spent } = refusal
      ? { calls: answer.calls.map((call) => refusedCall(call, refusal)), spent: NOTHING_SPENT }
      : await checkedCalls(deps, asking, history, { ...answer, commanded: asked.commanded === true }, offer);
    return await storeAnswer(deps.db, asking.input, asking.subject, {
      text: answer.text,
      ...(told && { note: told(sayIn(languageOf(asking.subject.preferences))) }),
      calls,
      // it has fields of calls by their position, so it goes with all of them or with none
      ...(calls.length === answer.calls.length && { state: answer.state }),
      families: familiesAfter(asking.subject, offer, calls),
      model: answer.model,
      // the summary that made room was paid for as well
      usage: sumOf(sumOf(asked.usage, fitting.spent), spent),
      cachedTokens: asked.cachedTokens,
      reasoningTokens: asked.reasoningTokens,
      ...(asked.estimated && { estimated: true }),
      readUpto: history.messages.at(-1)?.ord ?? history.upto,
      item: await stream.settle(),
    });
  } catch (error) {
    // what was streamed is kept as interrupted; the next attempt streams under another item
    await stream.interrupt().catch(() => {});
    throw error;
  }
}

/** What the request says: a history that fits the budget, and facts besides it. */
interface Fitting {
  history: History;
  /** what summing up has cost */
  spent: Required<StepUsage>;
  facts: PromptFacts;
}

async function fitHistory(
  { db, config, model }: ActivityDeps,
  { modelName, budget, input, subject }: Asking,
  loaded: History,
): Promise<Fitting> {
  const { threadId, turnId } = input;
  const at = {
    threadId,
    turnId,
    group: subject.group,
    modelName,
    summaryModel: model.kind === 'practice' ? undefined : config.SUMMARY_MODEL,
    budgetTokens: budget.history,
    shown: shownWithin(budget),
    signal: cancellationSignal(),
    requestId: stepKey(turnId, input.step),
  };
  const tainted = sourcesOf(loaded, subject.group).length > 0;
  const [fitted, facts] = await Promise.all([
    fittingHistory(db, subject.turn.call ? null : model, loaded, at),
    promptFacts(db, config, { turnId, chatId: subject.chatId, tainted }),
  ]);
  // names are the words of those who have them
  const history = facts.group
    ? { ...fitted.history, sources: unionOf(fitted.history.sources, [memberSource]) }
    : fitted.history;
  return { ...fitted, history, facts };
}

const memberSource = { kind: 'member', label: 'names in the group' } as const;

/** The tools of the turn, and the skills that its prompt names. */
interface TurnOffer extends Offer {
  skills: Awaited<ReturnType<typeof skillsAmong>>;
}

async function offerOf(db: Db, { input, subject }: Asking, { history, facts }: Fitting): Promise<TurnOffer> {
  const extensions = await extensionsFor(db, input.turnId, subject);
  const [added, skills] = await Promise.all([addedTools(db, extensions), skillsAmong(db, extensions)]);
  const { messages, openFrom } = history;
  const now = messages.filter(({ role, ord }) => role === 'user' && openFrom !== null && ord >= openFrom);
  const byItself = openedBy(
    now.map(({ content }) => content),
    { ...facts, skills: skills.length > 0 },
    openingWords(added),
  );
  return {
    access: { ...accessOf(subject.turn, subject.thread), families: facts.group?.families },
    added,
    skills,
    opened: withOpened(subject.thread.families ?? [], byItself),
  };
}

/** All families that the thread has after an answer; undefined when that is stored already. */
function familiesAfter(
  { thread }: StepSubject,
  offer: Offer,
  calls: readonly CheckedCall[],
): readonly Family[] | undefined {
  const called = familiesCalled(
    calls.map(({ verdict, args }) => ({ name: verdict.name, args })),
    offer,
  );
  const all = withOpened(offer.opened, called);
  return all.length > (thread.families ?? []).length ? all : undefined;
}

/** A history of fewer tokens needs the room of the map itself. */
const ROOM_FOR_MAP = 4_000;

/** After so long the model is told the time again. */
const STALE_MS = 5 * MINUTE;

/** The person's clock at the beginning of the turn, and now if much time has passed since. */
function clockOf(config: Config, { turn, preferences }: StepSubject): { began: string; since?: string } {
  const zone = preferences.timeZone ?? config.FETCH_TIME_ZONE;
  const now = new Date();
  const began = turn.started_at ?? turn.created_at;
  const shown = (at: Date) => describeTime(at, zone);
  return { began: shown(began), ...(now.getTime() - began.getTime() > STALE_MS && { since: shown(now) }) };
}

const messagesOf = (
  { config }: ActivityDeps,
  { budget, subject }: Asking,
  { history, facts }: Fitting,
  skills: TurnOffer['skills'],
  repeated: ReadonlyMap<string, number>,
): ModelMessage[] =>
  toModelMessages(
    systemPrompt(config, subject, facts.memories, skills, facts.group),
    history.summary,
    history.messages,
    history.calls,
    history.files,
    fittedTo(budget.room, shownWithin(budget), history.messages, history.calls),
    {
      before: history.openFrom,
      text: facts.work,
      map: budget.room < ROOM_FOR_MAP ? null : facts.map,
      group: facts.group?.about ?? null,
      clock: clockOf(config, subject),
    },
    repeated,
  );

/** An answer with what it has cost. */
interface Asked {
  answer: ModelAnswer;
  /** the words of a person are its call, and no model was asked */
  commanded?: boolean;
  usage: StepUsage;
  cachedTokens: number;
  reasoningTokens: number;
  /** the endpoint did not say all of the tokens */
  estimated?: boolean;
}

const SAY_SOMETHING = note(
  'the last answer had neither text nor a call',
  'Answer the person now in words, or call a tool.',
);
const END_NOW = note(
  'the same calls gave the same results again and again, so no more calls are made in this turn',
  'Answer the person now with what is known, and say what is missing.',
);

/**
 * The answer to a step. One with neither text nor a call is asked for once more. Answers by itself where the call of
 * the step is known.
 */
async function askForAnswer(
  deps: ActivityDeps,
  asking: Asking,
  messages: ModelMessage[],
  offer: Offer,
  stream: StepStream,
): Promise<Asked> {
  const { input, subject, modelName } = asking;
  const known = answerWithoutModel(messages, {
    key: stepKey(input.turnId, input.step),
    step: input.step,
    call: subject.turn.call,
    modelName,
    say: sayIn(languageOf(subject.preferences)),
  });
  if (known)
    return {
      answer: known,
      commanded: subject.turn.call === null,
      usage: { inputTokens: 0, outputTokens: 0, microUsd: 0 },
      cachedTokens: 0,
      reasoningTokens: 0,
    };
  const open = offeredTools(offer, { tools: asking.maxTools ?? MOST_TOOLS, tokens: asking.budget.tools });
  const first = await ask(deps, asking, { messages, tools: open }, stream);
  if (!isEmpty(first.answer) || first.answer.end === 'refused') return first;
  stream.again();
  const second = await ask(
    deps,
    asking,
    { messages: [...messages, { role: 'user', content: SAY_SOMETHING }], tools: open, again: true },
    stream,
  );
  return {
    answer: second.answer,
    usage: sumOf(first.usage, second.usage),
    cachedTokens: first.cachedTokens + second.cachedTokens,
    reasoningTokens: first.reasoningTokens + second.reasoningTokens,
    estimated: first.estimated || second.estimated,
  };
}

/**
 * The answer that ends a loop, from a model that can call nothing. When it cannot give one, the turn ends without its
 * words.
 */
async function askForEnd(
  deps: ActivityDeps,
  asking: Asking,
  messages: ModelMessage[],
  _: Offer,
  stream: StepStream,
): Promise<Asked> {
  try {
    return await ask(deps, asking, { messages: [...messages, { role: 'user', content: END_NOW }], tools: [] }, stream);
  } catch (error) {
    if (!(error instanceof ModelError) || error.retryable) throw error;
    const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, reasoningTokens: 0 };
    const answer = {
      text: '',
      reasoning: '',
      calls: [],
      usage,
      usageEstimated: false,
      finishReason: 'stop',
      model: asking.modelName,
    };
    return { answer, usage: { inputTokens: 0, outputTokens: 0, microUsd: 0 }, cachedTokens: 0, reasoningTokens: 0 };
  }
}

async function ask(
  deps: ActivityDeps,
  { modelName, input }: Asking,
  { messages, tools, again = false }: { messages: ModelMessage[]; tools: ModelTool[]; again?: boolean },
  stream: StepStream,
): Promise<Asked> {
  const { config, model } = deps;
  const asked = seeing(deps, modelName, messages);
  const request = {
    model: asked,
    effort: config.FETCH_REASONING_EFFORT,
    messages,
    tools,
    signal: cancellationSignal(),
    onDelta: (kind, delta) => stream.add(kind, delta),
    requestId: `${stepKey(input.turnId, input.step)}#${activityInfo().attempt}${again ? '-again' : ''}`,
  } satisfies ModelRequest;
  const answer = await model.complete(request).catch((error: unknown) => {
    throw error instanceof ModelError && error.type === 'ContextOverflow'
      ? new TooLong(error, requestTokens(promptChars(request)))
      : error;
  });
  const { inputTokens, outputTokens, cachedTokens, reasoningTokens } = answer.usage;
  const { microUsd, unpriced } = costOf([answer.model, asked], answer.usage, model.prices);
  return {
    answer,
    usage: { inputTokens, outputTokens, microUsd, ...(unpriced > 0 && { unpriced }) },
    cachedTokens,
    reasoningTokens,
    estimated: answer.usageEstimated,
  };
}

/** The calls of an answer, each with its verdict, what its turn had read, and the queue of its host. */
async function checkedCalls(
  { db, config, model }: ActivityDeps,
  asking: Asking,
  history: History,
  { calls: made, commanded }: Pick<ModelAnswer, 'calls'> & { commanded: boolean },
  { access, added }: Offer,
): Promise<Judging> {
  const { input, subject } = asking;
  const { chatId, group } = subject;
  const checked = await Promise.all(
    made.map(async (call) => {
      const it = checkCall(call, access, added);
      const refusal = it.refusal === undefined ? await refusalOf({ db, config }, asking, it) : null;
      return refusal === null
        ? { ...it, ...(commanded && it.verdict.name !== STARTS_WORK && isOwnCommand(history) && { commanded }) }
        : refusedCall(call, refusal);
    }),
  );
  const tainted = await withTaint(db, { threadId: input.threadId, chatId, group }, history, checked, added);
  const judge = { db, model, subject, signal: cancellationSignal(), requestId: stepKey(input.turnId, input.step) };
  const { calls, spent } = await judgeCalls({ ...judge, goal: wordsNow(history, group) }, tainted);
  return { calls: await routeToKennel(db, config, chatId, calls, added), spent };
}

/** Work that goes on for hours is asked about as its danger wants, also when the words of a person begin it. */
const STARTS_WORK = 'task_create';

/** The latest words of a person hold no text of others: a member of a group, or a forwarded message. */
const isOwnCommand = ({ messages }: History): boolean =>
  !messages.findLast(({ role, content }) => role === 'user' && !isNote(content))?.sources?.length;

/** Why a call is refused before anybody is asked about it, in words for the model; null when it is not. */
async function refusalOf(
  { db, config }: Pick<ActivityDeps, 'db' | 'config'>,
  { input, subject }: Asking,
  { verdict, args }: Pick<CheckedCall, 'verdict' | 'args'>,
): Promise<string | null> {
  if (verdict.name === ASK_USER)
    return subject.autonomy === 'autonomous' && asksLeaveOnly(args as unknown as AskedLeave) ? DECIDE_YOURSELF : null;
  const { ownersOnly, mainOnly } = tools.get(verdict.name) ?? {};
  if (mainOnly?.(args as never) && !(await isMainChat(db, subject.chatId, config))) return MAIN_ONLY;
  return ownersOnly && (await reachOf(db, { chatId: subject.chatId, turnId: input.turnId })) !== null
    ? ownersOnly
    : null;
}

const NOTHING_SPENT: StepUsage = { inputTokens: 0, outputTokens: 0, microUsd: 0 };

function sumOf(one: StepUsage, other: StepUsage): StepUsage {
  const unpriced = (one.unpriced ?? 0) + (other.unpriced ?? 0);
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    microUsd: one.microUsd + other.microUsd,
    ...(unpriced > 0 && { unpriced }),
  };
}

/**
 * The model that sees pictures, where one is named. The fallback is left alone: it takes over when that one fails, too.
 */
const seeing = ({ config, model }: ActivityDeps, modelName: string, messages: ModelMessage[]): string =>
  config.VISION_MODEL && model.kind !== 'practice' && modelName !== model.fallback && hasPictures(messages)
    ? config.VISION_MODEL
    : modelName;

/** A turn keeps what its first step was offered. Most turns have nothing to keep. */
const extensionsFor = async (
  db: Db,
  turnId: string,
  { extensions: { hashes, kept } }: StepSubject,
): Promise<readonly string[]> => (kept || hashes.length === 0 ? hashes : await keepForTurn(db, turnId, hashes));
