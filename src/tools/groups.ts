import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Config } from '../config.ts';
import { capabilitiesOf } from '../contracts/channels.ts';
import type { Autonomy } from '../contracts/conversation.ts';
import { folderFor, type GroupRule, whenInWords, whoInWords } from '../domain/chat/groups.ts';
import { FAMILIES } from '../domain/chat/tool-families.ts';
import { triggerProblem } from '../domain/chat/trigger.ts';
import { nameProblem } from '../domain/tasks/workspace-names.ts';
import { inline } from '../domain/text/foreign-text.ts';
import { suggestion } from '../domain/text/nearest.ts';
import { english } from '../domain/texts/say.ts';
import { type Group, listGroups, registerGroup, unregisterGroup } from '../store/chats/groups.ts';
import { chatOfThread, ensureThread } from '../store/chats/threads/threads.ts';
import { listWorkspaces, selectWorkspace } from '../store/kennel/workspaces/workspaces.ts';
import { namedPlaces, peopleNamed, wholeName } from '../store/owner/places.ts';
import { namesIn, peopleNames } from '../store/owner/views/chats.ts';
import type { Db } from '../store/postgres/database.ts';
import { currentBot } from '../store/telegram/bots.ts';
import { trust } from '../store/turns/replies.ts';
import { defineTool, named, type Tool, type ToolContext, type ToolOutcome } from './tool.ts';
import { onSite, WITH_IMAGE_MS } from './workspace/in-workspace.ts';
import { create } from './workspace-changes.ts';

/** `register_group`: which groups are answered, and by what rule. Only the owner's own chat says so. */

const no = (output: string): ToolOutcome => ({ ok: false, output });

const families = Object.keys(FAMILIES) as [keyof typeof FAMILIES, ...Array<keyof typeof FAMILIES>];

const schema = z.strictObject({
  group: z.string().trim().min(1).max(120).describe('Its name'),
  answer: z
    .enum(['called', 'mentioned', 'always', 'off'])
    .optional()
    .describe('called: by trigger, mention or reply; off: answer there no longer'),
  trigger: z.string().trim().min(1).max(60).optional().describe('A word of its own that calls'),
  callers: z
    .union([z.enum(['trusted', 'everyone']), z.array(z.string().trim().min(1).max(80)).min(1).max(50)])
    .optional()
    .describe('Who may call besides the owner; or names or numbers'),
  families: z
    .array(z.enum(families))
    .max(families.length)
    .optional()
    .describe('Tools besides the core; all when left out'),
  autonomy: z.enum(['supervised', 'cautious']).optional(),
  dayUsd: z.number().min(0).max(10_000).optional().describe('Money in a day'),
  folder: z.string().trim().min(1).max(64).optional().describe('Its workspace; a new one when left out'),
});
type Args = z.output<typeof schema>;

/** What a call would make of a group. */
interface GroupPlan {
  group: Group;
  off: boolean;
  rule: GroupRule;
  folder: string;
  autonomy: Autonomy | undefined;
}

/** The plan of a call, or why there is none. The same for the question and for the call itself. */
export async function planOf(db: Db, args: Args): Promise<GroupPlan | string> {
  const all = await listGroups(db);
  const byAddress = all.filter(({ address }) => address === args.group);
  const found = byAddress.length > 0 ? byAddress : namedPlaces(all, args.group);
  if (found.length === 0)
    return `${english('name.noGroup', { name: named(args.group) })}${suggestion(
      args.group,
      all.map(({ name }) => name),
    )}`;
  if (found.length > 1)
    return english('did.severalGroups', { groups: found.map((each) => wholeName(each)).join(', ') });
  const [group] = found as [Group];
  if (group.left_at !== null) return english('did.notInGroup', { group: named(group.name) });
  const problem = args.trigger === undefined ? null : triggerProblem(args.trigger);
  if (problem) return `The trigger ${problem}.`;
  const who = await callersOf(db, group, args.callers);
  if (typeof who === 'object' && 'problem' in who) return who.problem;
  const folder = await folderOf(db, group, args.folder, all);
  if (typeof folder !== 'string') return folder.problem;
  const { answer, trigger, dayUsd } = args;
  const before = group.registered_at === null ? {} : group.rule;
  return {
    group,
    off: answer === 'off',
    folder,
    autonomy: args.autonomy,
    rule: {
      ...before,
      ...(answer !== undefined && answer !== 'off' && { when: answer }),
      ...(trigger !== undefined && { trigger }),
      ...(who !== undefined && { who }),
      ...(args.families !== undefined && { families: args.families }),
      ...(dayUsd !== undefined && { dayUsd }),
    },
  };
}

async function callersOf(
  db: Db,
  group: Group,
  callers: Args['callers'],
): Promise<GroupRule['who'] | undefined | { problem: string }> {
  if (!Array.isArray(callers)) return callers;
  const ids: string[] = [];
  for (const name of callers) {
    const found = await peopleNamed(db, group, name);
    if (found.length === 0) return { problem: `I know nobody called ${named(name)} in ${named(group.name)}.` };
    if (found.length > 1)
      return { problem: `Several people are called ${named(name)}. Give the number of the one that you mean.` };
    ids.push(found[0]!);
  }
  return ids;
}

async function folderOf(
  db: Db,
  group: Group,
  wanted: string | undefined,
  all: readonly Group[],
): Promise<string | { problem: string }> {
  const others = new Set(
    all.flatMap((each) => (each === group || each.folder === null ? [] : [each.folder.toLowerCase()])),
  );
  if (wanted !== undefined) {
    const problem = nameProblem(wanted);
    if (problem) return { problem };
    return others.has(wanted.toLowerCase()) ? { problem: `Another group has the folder ${wanted}.` } : wanted;
  }
  if (group.folder !== null) return group.folder;
  for (const { name } of await listWorkspaces(db)) others.add(name.toLowerCase());
  return folderFor(group.name, others);
}

/** What the owner decides by: who reads along, the folder, and the rule. */
export async function planInWords(db: Db, config: Pick<Config, 'FETCH_TRIGGER'>, plan: GroupPlan): Promise<string[]> {
  const { group, off, rule, folder, autonomy } = plan;
  const names = await namesIn(db, group, group.chat_id ?? '');
  const more = (group.members ?? names.length) - names.length;
  const members = [...names, ...(more > 0 ? [`${more} whose names I do not know`] : [])].join(', ');
  const lines = [
    `${inline(group.name, 80)} on ${capabilitiesOf(group.channel).label}, members: ${members || 'not known'}`,
  ];
  if (off) return lines;
  return [
    ...lines,
    `I answer ${rule.when === 'always' ? '' : 'whoever of them calls me: '}${whenInWords(rule, config.FETCH_TRIGGER)}`,
    `may call: ${whoInWords(rule, [...(await peopleNames(db, Array.isArray(rule.who) ? rule.who : [])).values()])}`,
    `folder: ${folder}`,
    ...(rule.families ? [`tools: the usual ones${rule.families.map((name) => `, ${name}`).join('')}`] : []),
    ...(rule.dayUsd === undefined ? [] : [`at most $${rule.dayUsd} a day`]),
    ...(autonomy ? [`how much I do without asking: ${autonomy}`] : []),
  ];
}

export const registerGroupTool: Tool = defineTool({
  name: 'register_group',
  family: 'chats',
  reads: [],
  sends: ['settings'],
  description: 'Answer in a group that I am in, or change the rule by which it is answered.',
  danger: 'DANGEROUS',
  dangerOf: ({ answer }) => (answer === 'off' ? 'SAFE' : 'DANGEROUS'),
  // other people get a say, so it is asked each time
  asksAlways: ({ answer }) => answer !== 'off',
  mainOnly: () => true,
  effect: 'idempotent',
  // its folder is made on a host with containers, if there is one
  runsIn: 'kennel',
  anyHost: true,
  hostless: true,
  notARoutineStep: true,
  timeoutMs: WITH_IMAGE_MS,
  schema,
  // the plan below the question says all of it
  inQuestion: ['group', 'answer', 'trigger', 'callers', 'families', 'autonomy', 'dayUsd', 'folder'],
  asks: ({ group, answer }, _, say) =>
    say(answer === 'off' ? 'ask.answerNoMore' : 'ask.answerIn', { group: named(group) }),
  run: async (args, context) => {
    const { db } = context;
    const plan = await planOf(db, args);
    if (typeof plan === 'string') return no(plan);
    const { group } = plan;
    if (plan.off) {
      await unregisterGroup(db, group);
      return { ok: true, output: `I answer in ${named(group.name)} no longer.`, metadata: { group: group.name } };
    }
    const { chatId, threadId } = await chatOf(context, group);
    await registerGroup(db, group, { chatId, folder: plan.folder, rule: plan.rule });
    const { autonomy } = plan;
    if (autonomy)
      await db.transaction().execute((tx) => trust(tx, { threadId, chatId, autonomy, shared: false, owned: true }));
    const problem = await folderFrom(context, plan.folder, chatId);
    const about = await planInWords(db, context.config, plan);
    return {
      ok: true,
      output: [
        `I answer in ${named(group.name)} from now on. Nobody there was told.`,
        ...about.slice(1).map((line) => `- ${line}`),
        ...(problem ? [`Its folder is not there yet: ${problem}`] : []),
        ...(group.channel === 'telegram' && (await currentBot(db))?.reads_groups === false ? [PRIVACY] : []),
      ].join('\n'),
      metadata: { group: group.name, folder: plan.folder },
    };
  },
});

/** Telegram shows a bot only what mentions it, unless its owner has changed that. */
const PRIVACY =
  'On Telegram I see only messages that mention me or answer me. To let me read along, say /setprivacy to @BotFather and choose Disable, then add me again; or make me an administrator.';

/** The chat of a group, which may have none yet. */
async function chatOf({ db, config }: ToolContext, { channel, address }: Group) {
  // chats are found by their address, so any key will do that says nothing of it
  const { id: threadId } = await ensureThread(db, config, { channel, address }, () => randomBytes(10).toString('hex'));
  return { chatId: await chatOfThread(db, threadId), threadId };
}

/** Makes the folder of a group its chat's active workspace. Returns why it could not be made now; null when it is there. */
async function folderFrom(context: ToolContext, folder: string, chatId: string): Promise<string | null> {
  const { db, config, kennel, host } = context;
  const there = (await listWorkspaces(db)).filter(({ name }) => name === folder);
  const known = there.find((each) => each.host === (host ?? config.FETCH_KENNEL_HOST)) ?? there[0];
  if (known) {
    await selectWorkspace(db, chatId, known);
    return null;
  }
  if (!kennel) return 'no machine that runs containers is connected. Say it again when one is.';
  const made = await onSite(context, (site) =>
    // as the group's own: its first content is the group's
    create({ ...context, chatId }, site, {
      name: folder,
      template: 'empty',
      description: '',
      initGit: true,
      publish: false,
    }),
  );
  if (made.ok) await selectWorkspace(db, chatId, { host: host!, name: folder });
  return made.ok ? null : made.output;
}
