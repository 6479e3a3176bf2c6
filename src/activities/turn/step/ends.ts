import type { ModelAnswer } from '../../../adapters/model/model.ts';
import { ASK_USER } from '../../../contracts/conversation.ts';
import type { Called, DialogueMessage } from '../../../domain/chat/context/context.ts';
import { ENDED_AT, type EndedCall, TOLD_AT, timesInARow } from '../../../domain/chat/repetition.ts';
import type { Told } from '../../../domain/texts/say.ts';
import type { History } from '../../../store/turns/steps/transcript.ts';
import type { AddedTools } from '../../../tools/added-tools.ts';
import { tools } from '../../../tools/registry.ts';

/** The consequence of an answer, by how it ended. */
interface End {
  answer: ModelAnswer;
  /** why none of its calls may run, in words for the model */
  refusal?: string;
  /** what the person is told beside the text */
  note?: Told;
}

/** The turn ends when the model was cut off for this many times in a row. */
const MOST_CUTS = 3;

const CUT_CALL =
  'Not run: your output was cut at the length limit of the model endpoint before the answer was complete, so the arguments of its calls may be incomplete. ' +
  'Nothing was changed. Write less in one answer: for example a long file in several parts, one call for each.';

/** Neither a word nor a call. Thoughts alone are no answer. */
export const isEmpty = ({ text, calls }: ModelAnswer): boolean => text.trim() === '' && calls.length === 0;

/**
 * An answer without the calls that must not run, and what the model and the person are told about its end. `loops`: it
 * was to end a loop.
 */
export function endOf(given: ModelAnswer, { history, loops }: { history: History; loops: boolean }): End {
  const said = given.text.trim() !== '';
  const answer = said ? given : { ...given, text: '' };
  const alone = answer.calls.length === 0 ? answer : { ...answer, calls: [], state: undefined };
  if (loops) return { answer: alone, note: (say) => say('end.looped', { count: ENDED_AT }) };
  if (answer.end === 'refused') return { answer: alone, note: (say) => say(said ? 'end.refusedLater' : 'end.refused') };
  if (answer.end !== 'cut') return isEmpty(answer) ? { answer, note: (say) => say('end.empty') } : { answer };
  if (answer.calls.length === 0) return { answer, note: (say) => say(said ? 'end.cut' : 'end.cutEmpty') };
  return cutsBefore(history) + 1 < MOST_CUTS
    ? { answer, refusal: CUT_CALL }
    : { answer: alone, note: (say) => say('end.cutAgain', { count: MOST_CUTS }) };
}

/** How many of the latest steps in a row were cut. */
function cutsBefore(history: History): number {
  const steps = stepsOf(dialoguesOf(history.messages).at(-1) ?? [], history.calls);
  return steps.length - 1 - steps.findLastIndex((step) => step.some(({ output }) => output !== CUT_CALL));
}

/** The part of a thread from one message of a person to the next, oldest first. */
function dialoguesOf(messages: History['messages']): Array<History['messages']> {
  const starts = messages.flatMap(({ role }, at) => (role === 'user' || at === 0 ? at : []));
  return starts.map((start, nth) => messages.slice(start, starts[nth + 1]));
}

/** The steps of a dialogue that made calls, oldest first. */
const stepsOf = (dialogue: History['messages'], calls: History['calls']): Called[][] =>
  dialogue.flatMap(({ role, call_ids }) => {
    const made = role === 'user' ? [] : call_ids.flatMap((id) => calls.get(id) ?? []);
    return made.length > 0 ? [made] : [];
  });

/** The loops of a thread. */
interface Loops {
  /** by id of a call: how many times in a row it has brought the same, where the model is to hear of it */
  told: ReadonlyMap<string, number>;
  /** the latest steps are one that must end */
  ends: boolean;
}

/**
 * The loops that a thread shows. The same thread has the same ones, so that a retry decides alike and prompt caches
 * hold.
 */
export function loopsOf({ messages, calls }: Pick<History, 'messages' | 'calls'>, added: AddedTools): Loops {
  const all = dialoguesOf(messages).map((dialogue) => loopsIn(dialogue, calls, added));
  return {
    told: new Map(all.flatMap(({ told }) => told)),
    ends: all.at(-1)?.ends ?? false,
  };
}

interface DialogueLoops extends Pick<Loops, 'ends'> {
  told: Array<readonly [id: string, times: number]>;
}

/** Of a dialogue that has ended, by its first message: its messages stay the same objects as long as they are cached. */
const known = new WeakMap<DialogueMessage, { last: DialogueMessage; added: AddedTools; loops: DialogueLoops }>();

function loopsIn(dialogue: History['messages'], calls: History['calls'], added: AddedTools): DialogueLoops {
  const first = dialogue[0]!;
  const last = dialogue.at(-1)!;
  const before = known.get(first);
  if (before?.last === last && before.added === added) return before.loops;
  const steps = stepsOf(dialogue, calls);
  const times =
    steps.length < TOLD_AT ? [] : timesInARow(steps.map((step) => step.map((call) => endedCall(call, added))));
  const told = steps.flatMap((step, at) =>
    times[at]! >= TOLD_AT ? step.map(({ id }) => [id, times[at]!] as const) : [],
  );
  const loops = { told, ends: (times.at(-1) ?? 0) >= ENDED_AT };
  known.set(first, { last, added, loops });
  return loops;
}

/** These say something to somebody: their results are always the same. */
const TELLING = new Set([ASK_USER, 'report_progress', 'task_respond']);
/** A command without an effect may print little, and so do many others. */
const TELLING_CHARS = 100;
/** A command takes another time in each run, and the programs that it runs tell it. */
const TIMES =
  /\b\d{1,9}(?:\.\d{1,9})? ?(?:ms|s|secs?|seconds?|min|minutes?)\b|\b\d{1,2}:\d{2}(?::\d{2})?(?:\.\d{1,9})?\b/g;
/** The first line of a page that was refused (`web_fetch`): its address, and what that answered. */
const REFUSED_PAGE = /^(https?:\S{1,2000}) (answered ([45]\d\d)\b.{0,100})/;
/** A server that wants no more requests answers so at each of its addresses. */
const REFUSED_SERVER = new Set(['429', '503']);

function refusalOf(output: string | null): string | undefined {
  const [, address, answered, status] = REFUSED_PAGE.exec(output ?? '') ?? [];
  if (address === undefined) return undefined;
  return `${REFUSED_SERVER.has(status!) ? URL.parse(address)?.origin : address} ${answered}`;
}

function endedCall({ name, args, state, output, size }: Called, added: AddedTools): EndedCall {
  const tool = tools.get(name) ?? added.get(name)?.tool;
  const looks = tool?.danger === 'SAFE' && !TELLING.has(name);
  const isCommand = tool?.reads.includes('command') === true;
  const prints = isCommand && (size ?? 0) >= TELLING_CHARS;
  const result = isCommand ? output?.replace(TIMES, '') : output;
  // the size tells apart what is not shown
  const hidden = output !== null && (size ?? 0) > output.length ? `${size} ` : '';
  return {
    name,
    args,
    output: state === 'done' && typeof result === 'string' ? hidden + result : null,
    shows: looks || prints,
    refusal: refusalOf(output),
  };
}
