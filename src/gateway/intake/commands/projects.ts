import { roundOf, startBaseline } from '../../../adapters/workflows.ts';
import type { Identity } from '../../../contracts/decision.ts';
import { parseEgress } from '../../../domain/chat/words/commands.ts';
import { parseCheck, parseProfile } from '../../../domain/chat/words/profile-words.ts';
import { mayTrust } from '../../../domain/consent/policy.ts';
import { commandsOf, profileText } from '../../../domain/tasks/checks/project-profile.ts';
import { shownHost } from '../../../domain/tasks/egress.ts';
import { findName } from '../../../domain/tasks/workspace-names.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { nearest } from '../../../domain/text/nearest.ts';
import type { Say } from '../../../domain/texts/say.ts';
import { groupOfChat } from '../../../store/chats/groups.ts';
import { listShares } from '../../../store/chats/shares.ts';
import { channelOfChat } from '../../../store/chats/threads/threads.ts';
import { egressOfChat, revokeRules } from '../../../store/kennel/egress-rules.ts';
import { keepWantedCheck, projectProfile, sayPart } from '../../../store/kennel/workspaces/project-profiles.ts';
import {
  activeWorkspace,
  listWorkspaces,
  selectWorkspace,
  tasksIn,
  type WorkspaceRow,
  workspacesOfChat,
} from '../../../store/kennel/workspaces/workspaces.ts';
import type { Tx } from '../../../store/postgres/database.ts';
import { openQuestions } from '../../../store/turns/questions/questions.ts';
import { type CommandContext, command, saying } from './command.ts';

/** The workspaces, which people call projects. */

const NAMES_LISTED = 20;

export const projects = command({
  topic: 'tasks',
  help: ['helps.projects'],
  parse: saying('projects', '/ls', 'workspaces', 'list projects', 'list workspaces', 'my projects', 'show projects'),
  mayAnswer: 'question',
  run: async (_, { tx, by, say }) => {
    const [rows, active] = await Promise.all([reachable(tx.now, tx.chatId, by), activeWorkspace(tx.now, tx.chatId)]);
    if (rows.length === 0) return say('projects.none');
    const many = new Set(rows.map(({ host }) => host)).size > 1;
    const lines = rows.map((row) => {
      const about = [
        ...(active?.name === row.name && active.host === row.host ? [say('projects.active')] : []),
        ...(row.profile?.language ? [row.profile.language] : []),
        ...(row.profile?.git?.branch ? [say('status.branch', { branch: row.profile.git.branch })] : []),
        ...(many ? [say('projects.host', { host: row.host })] : []),
      ];
      return `- ${row.name}${about.length > 0 ? ` (${about.join(', ')})` : ''}`;
    });
    const other = rows.find((row) => row.name !== active?.name);
    return [...lines, ...(other ? [say('projects.select', { name: other.name })] : [])].join('\n');
  },
});

export const project = command({
  help: [],
  parse: (text) => {
    const [, name] =
      /^(?:\/?(?:project|switch to project|use project)|\/select) ([\w-]{1,64})[.!]?$/i.exec(text.trim()) ?? [];
    return name === undefined ? null : { name, certain: text.trim().startsWith('/') };
  },
  mayAnswer: true,
  run: async ({ name, certain }, { tx, by, config, say }) => {
    const rows = await reachable(tx.now, tx.chatId, by);
    const names = [...new Set(rows.map((row) => row.name))];
    const found = findName(name, names);
    // "project management" is about something else
    if (found === null)
      return certain ? say('projects.unknown', { name, suggestion: suggestionIn(name, names, say) }) : null;
    const places = rows.filter((row) => row.name === found);
    const row = places.find(({ host }) => host === config.FETCH_KENNEL_HOST) ?? places[0]!;
    await selectWorkspace(tx.now, tx.chatId, row);
    const known = await projectProfile(tx.now, { host: row.host, workspace: found });
    return [
      places.length > 1
        ? say('projects.chosenOn', { name: found, host: row.host })
        : say('projects.chosen', { name: found }),
      ...(row.profile || known.checked ? [profileText(found, commandsOf(row.profile, known), known, say)] : []),
    ].join('\n');
  },
});

/** Names that may be meant, or all of a few. */
function suggestionIn(wanted: string, names: readonly string[], say: Say): string {
  const near = nearest(wanted, names);
  const either = new Intl.ListFormat(say.locale, { type: 'disjunction' });
  if (near.length > 0) return say('projects.near', { names: either.format(near) });
  return names.length > 0 && names.length <= NAMES_LISTED ? say('projects.thereIs', { names: names.join(', ') }) : '';
}

/** The project of this name that this person may use, on this machine where it is there; null for another word. */
async function projectNamed(
  { tx, by, config }: Pick<CommandContext, 'tx' | 'by' | 'config'>,
  name: string,
): Promise<WorkspaceRow | null> {
  const rows = await reachable(tx.now, tx.chatId, by);
  const found = findName(name, [...new Set(rows.map((row) => row.name))]);
  const places = rows.filter((row) => row.name === found);
  return places.find(({ host }) => host === config.FETCH_KENNEL_HOST) ?? places[0] ?? null;
}

export const profileCommand = command({
  topic: 'tasks',
  help: ['helps.profile'],
  parse: parseProfile,
  ownersOnly: () => 'owner.profile',
  run: async ({ name, part, command: line }, context) => {
    const row = await projectNamed(context, name);
    // a sentence about something else
    if (!row) return null;
    const { tx, say } = context;
    const { now } = tx;
    const workspace = row.name;
    const at = { host: row.host, workspace };
    const { said } = await projectProfile(now, at);
    if (line === null && said[part] === undefined) return say('profile.notSaid', { workspace, part });
    await sayPart(now, at, part, line);
    const after = commandsOf(row.profile, { said: {} })[part];
    if (line !== null) return say('profile.said', { workspace, part, command: inline(line, 300) });
    return after === undefined
      ? say('profile.forgottenAll', { workspace, part })
      : say('profile.forgotten', { command: inline(after, 300) });
  },
});

export const checkCommand = command({
  topic: 'tasks',
  help: ['helps.check'],
  parse: parseCheck,
  ownersOnly: () => 'owner.check',
  run: async ({ name }, context) => {
    const row = await projectNamed(context, name);
    if (!row) return null;
    const { tx, config, inboxId, say } = context;
    const workspace = row.name;
    const at = { host: row.host, workspace };
    const { asked } = await projectProfile(tx.now, at);
    const open = (await openQuestions(tx.now, tx.threadId)).find(({ id }) => id === asked?.questionId);
    if (open) return `${say('check.open')}\n${open.prompt}`;
    if ((await tasksIn(tx.now, row)).length > 0) return say('check.busy', { workspace });
    const channel = await channelOfChat(tx.now, tx.chatId);
    const check = { ...at, chatId: tx.chatId, channel, asks: true, round: roundOf(inboxId) };
    await keepWantedCheck(tx.now, at, { round: check.round, chatId: tx.chatId, at: tx.at.toISOString() });
    context.afterwards((temporal) => startBaseline(temporal, config, check));
    return say('check.begun', { workspace });
  },
});

/**
 * For somebody else than the owner, a project that is not shared with them does not exist; in a registered group none
 * but its folder.
 */
async function reachable(tx: Tx, chatId: string, by: Identity): Promise<WorkspaceRow[]> {
  const [rows, group] = await Promise.all([listWorkspaces(tx), groupOfChat(tx, chatId)]);
  if (mayTrust(by)) return group ? rows.filter(({ name }) => name === group.folder) : rows;
  const shared = (await listShares(tx)).filter(({ person }) => person === by.id).map(({ workspace }) => workspace);
  return rows.filter(({ name }) => name === group?.folder || shared.includes(name));
}

export const egressCommand = command({
  topic: 'trust',
  help: ['helps.egress'],
  parse: parseEgress,
  ownersOnly: ({ what }) => (what === 'remove' ? 'owner.egress' : null),
  run: async (order, { tx, config, say }) =>
    order.what === 'remove'
      ? await remove(tx.now, tx.chatId, order, say)
      : (await egressOfChat(tx.now, config, tx.chatId, say)).text,
});

async function remove(tx: Tx, chatId: string, at: { host: string; port: number | null }, say: Say): Promise<string> {
  const gone: string[] = [];
  for (const { host, name } of await workspacesOfChat(tx, chatId))
    gone.push(...(await revokeRules(tx, host, [name], at)));
  const shown = shownHost({ host: at.host, port: at.port ?? 443 });
  if (gone.length === 0) return say('egress.noRule', { host: shown });
  return say('egress.removed', { host: shown, workspaces: gone.join(', ') });
}
