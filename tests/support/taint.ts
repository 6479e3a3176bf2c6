import { declaredSources, withTaint, wordsNow } from '../../src/activities/turn/context/provenance.ts';
import { judgeCalls } from '../../src/activities/turn/step/judge.ts';
import type { Model } from '../../src/adapters/model/model.ts';
import type { Autonomy, CallVerdict } from '../../src/contracts/conversation.ts';
import type { Identity } from '../../src/contracts/decision.ts';
import type { Source } from '../../src/contracts/taint.ts';
import { toModelMessages } from '../../src/domain/chat/context/context.ts';
import { priceBook } from '../../src/domain/model/price-book.ts';
import { english } from '../../src/domain/texts/say.ts';
import { answerOpen } from '../../src/gateway/intake/answers.ts';
import { freshId } from '../../src/store/chats/ids.ts';
import { onThread } from '../../src/store/chats/thread-transaction.ts';
import { createThread } from '../../src/store/chats/threads/threads.ts';
import type { Db } from '../../src/store/postgres/database.ts';
import { ask } from '../../src/store/turns/questions/ask.ts';
import { decideQuestion } from '../../src/store/turns/questions/decide.ts';
import { openQuestion } from '../../src/store/turns/questions/questions.ts';
import { beginCall, settleBegun } from '../../src/store/turns/steps/calls.ts';
import type { CheckedCall } from '../../src/store/turns/steps/new-calls.ts';
import { loadSubject } from '../../src/store/turns/steps/step-subject.ts';
import { storeAnswer } from '../../src/store/turns/steps/steps.ts';
import { type Heard, loadHistory } from '../../src/store/turns/steps/transcript.ts';
import { openTurn } from '../../src/store/turns/turns.ts';
import { prepareCall, tools } from '../../src/tools/registry.ts';

/**
 * A chat on a real store, in which turns are played step by step: what the model reads, what it calls, what policy
 * says. No tool runs.
 */
export interface PlayedChat {
  threadId: string;
  chatId: string;
  /** begins a turn with a message of the person, or of somebody else */
  says(text: string, heard?: Heard): Promise<void>;
  /** everything that the model is shown now, as one text */
  shown(): Promise<string>;
  /** a model step with one call; what policy says of it */
  calls(name: string, args: Record<string, unknown>): Promise<CallVerdict>;
  /** ends the last call with an output, as its tool would have */
  gives(output: string, sources?: readonly Source[], metadata?: Record<string, unknown>): Promise<void>;
  /** whether the activity would run the last call now: what the store says, whatever a workflow was told */
  runs(): Promise<boolean>;
  /** puts the approval of the last call to the person, who answers it */
  approves(always?: boolean | 'in this project'): Promise<string>;
  /** the same with a no; both give what was asked */
  refuses(): Promise<string>;
  /** the same with words; what the person is told instead, when they decide nothing */
  hears(words: string, role?: Identity['role']): Promise<string | null>;
  /** the turn is over */
  ends(): Promise<void>;
}

const noModel: Pick<Model, 'kind' | 'prices' | 'complete'> = {
  kind: 'practice',
  prices: priceBook(undefined, { ours: false, local: true }),
  complete: () => Promise.reject(new Error('No model is asked.')),
};

export async function playChat(
  db: Db,
  /** `judged`: in a project `app`, by rules alone or by a model */
  trust: { autonomy: Autonomy; autoApprove: boolean; judged?: true | Pick<Model, 'kind' | 'prices' | 'complete'> },
  group = false,
): Promise<PlayedChat> {
  const thread = await createThread(db, {
    channel: group ? 'whatsapp' : 'api',
    ...(group && { address: `${freshId('run_')}@g.us` }),
    model: 'm',
    workspace: '/',
    mode: 'agent',
    allow_shell: false,
    trust_mode: false,
    auto_approve: trust.autoApprove,
    archived: false,
    autonomy: trust.autonomy,
    chatKey: (address) => address,
  });
  const threadId = thread.id;
  const { chat_id: chatId } = await db
    .selectFrom('threads')
    .select('chat_id')
    .where('id', '=', threadId)
    .executeTakeFirstOrThrow();
  if (trust.judged) {
    const judge_model = trust.judged === true ? null : 'judge';
    await db.updateTable('chats').set({ judged: true, judge_model }).where('id', '=', chatId).execute();
    const app = { host: 'h', name: 'app', path: '/app', seen_at: new Date() };
    await db
      .insertInto('workspaces')
      .values(app)
      .onConflict((c) => c.doNothing())
      .execute();
  }
  let turnId = '';
  let step = 0;
  let last = '';

  const model = trust.judged === undefined || trust.judged === true ? noModel : trust.judged;
  const judge = { db, model, signal: new AbortController().signal, requestId: 'r' };
  const answer = async (calls: CheckedCall[], text: string) => {
    const input = { threadId, turnId, step: ++step };
    const [subject, history] = await Promise.all([
      loadSubject(db, input, { account: '', name: 'm' }, 'UTC'),
      loadHistory(db, threadId),
    ]);
    const tainted = await withTaint(db, { threadId, ...subject! }, history, calls);
    const { calls: judged } = await judgeCalls(
      { ...judge, subject: subject!, goal: wordsNow(history, group) },
      tainted,
    );
    const usage = { inputTokens: 1, outputTokens: 1, microUsd: 0 };
    const readUpto = history.messages.at(-1)!.ord;
    return await storeAnswer(db, input, subject!, {
      text,
      calls: judged,
      model: 'm',
      usage,
      readUpto,
      item: { id: freshId('item_'), begun: false, rest: text },
    });
  };
  const begun = async () => (await beginCall(db, last, []))!;

  return {
    threadId,
    chatId,
    async says(text, heard) {
      step = 0;
      turnId = await onThread(db, threadId, (tx) => openTurn(tx, { text, ...(heard && { heard }) }).id);
    },
    async shown() {
      const { summary, messages, calls, files } = await loadHistory(db, threadId);
      return toModelMessages('You are Fetch.', summary, messages, calls, files)
        .map((message) => `<${message.role}>${message.content}`)
        .join('\n');
    },
    async calls(name, args) {
      const prepared = prepareCall(name, JSON.stringify(args));
      if (!prepared.ok) throw new Error(prepared.error);
      const { tool } = prepared;
      const verdict = { name, danger: tool.danger, effect: tool.effect, summary: name, timeoutMs: tool.timeoutMs };
      const result = await answer([{ providerId: 'p', args: prepared.args, verdict }], '');
      last = result.calls[0]!.callId;
      return result.calls[0]!;
    },
    async gives(output, sources, metadata) {
      const { call } = await begun();
      await settleBegun(db, call, {
        ok: true,
        output,
        sources: sources ?? declaredSources(tools.get(call.name), call.args),
        ...(metadata && { metadata }),
      });
    },
    async runs() {
      const { policy, allowed } = await begun();
      return policy === 'run' || (policy === 'ask' && allowed);
    },
    approves: (always = false) => decides('allow', always),
    refuses: () => decides('deny', false),
    async hears(text, role = 'owner') {
      await asks();
      return await onThread(db, threadId, async (tx) => {
        const by: Identity = { role, channel: 'api' };
        const heard = await answerOpen(tx, {
          text,
          say: english,
          inboxId: freshId('inb_'),
          by,
          at: new Date(),
          readMs: 0,
        });
        if (!heard) return 'It goes to the model.';
        return 'reply' in heard ? heard.reply : 'unclear' in heard ? heard.unclear : null;
      });
    },
    async ends() {
      await answer([], 'Done.');
    },
  };

  function asks() {
    const about = { callId: last, turnId, threadId, kind: 'approval' } as const;
    return ask(db, about, { sentence: 'Do it?', evidence: '', intent: null });
  }

  async function decides(decision: 'allow' | 'deny', always: boolean | 'in this project'): Promise<string> {
    await asks();
    return await onThread(db, threadId, async (tx) => {
      const question = await openQuestion(tx.now, threadId, last);
      const { taint } = await tx.now
        .selectFrom('calls')
        .select('taint')
        .where('id', '=', last)
        .executeTakeFirstOrThrow();
      const sink = always === true && !taint?.each ? taint?.asks[0] : undefined;
      if (question)
        await decideQuestion(
          tx,
          question,
          {
            decision,
            remember: false,
            ...(sink && { always: [sink] }),
            ...(always === 'in this project' && { inProject: true }),
          },
          { role: 'owner' },
        );
      return question?.prompt ?? '';
    });
  }
}
