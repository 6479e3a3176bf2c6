import { reactionAnswer } from '../consent/reactions.ts';
import { hostWarnings } from '../text/look-alikes.ts';
import { english, type Say } from '../texts/say.ts';
import { MINUTE } from '../time.ts';

/** Hosts that coding tasks ask for: what the person is asked, what an answer means, and what the agent is told. */

/** A host as a container named it: in lower case, letters, digits, `-`, `_` and `.` alone, or an IP address. */
export interface AskedHost {
  host: string;
  port: number;
}

/** A tool of an MCP server is asked about like a host. No host can have such a name. */
const MCP_TOOL = 'mcp tool ';
export const askedTool = (server: string, tool: string): AskedHost => ({
  host: `${MCP_TOOL}${server}/${tool}`,
  port: 443,
});
export const isTool = ({ host }: Pick<AskedHost, 'host'>): boolean => host.startsWith(MCP_TOOL);

/** `once`: for some minutes. `never`: a no for the whole project. */
export type EgressVerdict = 'once' | 'task' | 'project' | 'no' | 'never';

/** The possible answers, in this order. Each must be a word below. */
export const egressOptions = (say: Say = english): string[] =>
  (['hosts.once', 'hosts.task', 'hosts.project', 'hosts.no'] as const).map((key) => say(key));

/** Hosts that one question names. An answer holds for these alone. */
export const HOSTS_NAMED = 12;
/** Hosts that one task may ask for in all. */
export const HOSTS_ASKED = 48;
/** How long a "once" lasts. */
export const ONCE_MS = 10 * MINUTE;

const LONGEST_HOST = 70;
const SHOWN_END = 30;

const meanings: Record<EgressVerdict, readonly string[]> = {
  once: [
    ...['once', 'just once', 'only once', 'allow once', 'yes once', 'yes, once'],
    ...['einmal', 'nur einmal', 'una vez', 'solo una vez', 'uma vez', 'só uma vez', 'une fois', 'एक बार'],
  ],
  task: [
    ...['this task', 'task', 'for this task', 'yes', 'y', 'ok', 'okay', 'allow', 'yes, this task', 'yes this task'],
    ...['diese aufgabe', 'ja', 'esta tarea', 'sí', 'si', 'esta tarefa', 'sim', 'cette tâche', 'oui'],
    ...['यह काम', 'हाँ', 'हां', 'ठीक है'],
  ],
  project: [
    ...['this project', 'project', 'always', 'for this project', 'yes, this project', 'yes this project'],
    ...['this workspace', 'dieses projekt', 'immer', 'este proyecto', 'siempre', 'este projeto', 'sempre'],
    ...['ce projet', 'toujours', 'यह प्रोजेक्ट', 'हमेशा'],
  ],
  no: [...['no', 'n', 'nope', 'deny', 'skip', 'no thanks', 'reject'], ...['nein', 'não', 'nao', 'non', 'नहीं', 'नही']],
  never: [
    ...['never', 'no never', 'no, never', 'never in this project'],
    ...['nie', 'niemals', 'nunca', 'jamais', 'कभी नहीं'],
  ],
};
const byWord = new Map(
  Object.entries(meanings).flatMap(([verdict, words]) =>
    words.map((word) => [word, verdict as EgressVerdict] as const),
  ),
);

/** The verdict that a whole answer is; null for other words, which decide nothing. A bare yes holds for the task. */
export function egressVerdict(answer: string): EgressVerdict | null {
  if (answer.length > 100) return null;
  const plain = answer
    .trim()
    .normalize('NFC')
    .toLowerCase()
    .replace(/\s+/g, ' ')
    .replace(/(?<![.!।])[.!।]+$/, '');
  const known = byWord.get(plain);
  if (known) return known;
  const reaction = reactionAnswer(answer.trim());
  return reaction === null ? null : reaction === 'yes' ? 'task' : 'no';
}

export const isAllowing = (verdict: EgressVerdict): boolean => verdict !== 'no' && verdict !== 'never';

/** Nothing is encrypted on the way there. */
const isOpen = ({ port }: Pick<AskedHost, 'port'>): boolean => port === 80;

/**
 * A host for people. A name may carry data in itself, so it is never shortened without saying so; its end says whose it
 * is.
 */
export function shownHost({ host, port }: AskedHost, say: Say = english): string {
  if (isTool({ host })) return say('hosts.mcpTool', { name: host.slice(MCP_TOOL.length) });
  const name = host.includes(':') ? `[${host}]` : host;
  const cut = name.length - LONGEST_HOST;
  const shown =
    cut <= 0
      ? name
      : `${name.slice(0, LONGEST_HOST - SHOWN_END)}${say('hosts.cut', { count: cut })}${name.slice(-SHOWN_END)}`;
  if (isOpen({ port })) return `http://${shown}`;
  return port === 443 ? shown : `${shown}:${port}`;
}

/**
 * The name of a program from its User-Agent, such as `npm` or `pip`; null when there is none. It comes from the
 * container and decides nothing.
 */
export function toolName(userAgent: string | undefined): string | null {
  // it names its distribution first
  if (userAgent?.startsWith('Debian APT-')) return 'apt';
  const name = /^\s*([a-z][a-z0-9+_-]{0,23})(?=[\s/;,(]|$)/i.exec(userAgent?.slice(0, 200) ?? '')?.[1];
  return name?.toLowerCase() ?? null;
}

interface HostsAsked {
  workspace: string;
  /** those that the question names */
  hosts: readonly AskedHost[];
  /** further ones, which stay refused */
  more: number;
  tools: readonly string[];
  /** why text of others may be behind it, in sentences; empty when nothing is known */
  warnings: readonly string[];
  /** servers that the owner's settings name: nothing about their addresses misleads */
  own?: readonly AskedHost[];
}

/** The question, without its choices. */
export function egressQuestion(
  { workspace, hosts, more, tools, warnings, own = [] }: HostsAsked,
  say: Say = english,
): string {
  const who = say.list(tools) || say('hosts.program');
  const asked = { who, workspace, count: Math.max(1, tools.length), number: hosts.length };
  const shown = hosts.map((host) => shownHost(host, say));
  const all =
    hosts.length === 1
      ? say('hosts.wants', { ...asked, host: shown[0]! })
      : [say(hosts.some(isTool) ? 'hosts.wantsThings' : 'hosts.wantsHosts', asked), ...shown.map(asItem)].join('\n');
  const rest = more > 0 ? [say('hosts.more', { count: more })] : [];
  const tool = hosts.some(isTool) ? [say('hosts.tool')] : [];
  return [all, ...rest, ...warningsAbout(own, hosts, say), ...tool, ...warnings].join('\n');
}

/** All that the names of these hosts warn of, in sentences. */
export function warningsAbout(own: readonly AskedHost[], hosts: readonly AskedHost[], say: Say = english): string[] {
  const misleading = warningsBut(
    own,
    hosts.filter((at) => !isTool(at)),
    say,
  );
  const open = hosts.some(isOpen) ? [say(hosts.length > 1 ? 'hosts.someOpen' : 'hosts.open')] : [];
  const long = hosts.some(({ host }) => host.length > LONGEST_HOST) ? [say('hosts.long')] : [];
  return [...misleading, ...open, ...long];
}

const asItem = (line: string): string => `- ${line}`;

/** The warnings about hosts, without those about servers that the owner's settings name. */
export const warningsBut = (own: readonly AskedHost[], hosts: readonly AskedHost[], say: Say): Set<string> =>
  new Set(
    hosts
      .filter(({ host, port }) => !own.some((each) => each.host === host && each.port === port))
      .flatMap((at) => hostWarnings(at, say)),
  );

/** Words for the agent. They name no setting: it cannot change one. */
export const egressWords = {
  notAllowed: (at: AskedHost): string =>
    `The person has not allowed ${shownHost(at)}. Do not try it again or in another way. Go on without it, or say what is missing.`,
  tooMany: (at: AskedHost): string =>
    `This task asked for too many hosts, so nobody is asked about ${shownHost(at)}. It is refused.`,
  notYet: (at: AskedHost): string =>
    `The person has not answered yet whether ${shownHost(at)} may be ${isTool(at) ? 'used' : 'reached'}. Wait some minutes, then try again.`,
  /** a call that waited may have been given up meanwhile, and must not be made twice */
  callAgain: (at: AskedHost): string =>
    `The person has allowed ${shownHost(at)}. Nothing was called yet: call it again now.`,
  noStore: (at: AskedHost): string =>
    `The person cannot be asked about ${shownHost(at)} right now. Try again in a minute.`,
  notPublic: ({ host }: { host: string }): string =>
    `${host} is not on the public internet, and only public addresses may be reached.`,
  notForApps: (at: AskedHost): string =>
    `A page of an app reaches its own workspace and the hosts that are allowed there, and ${shownHost(at)} is not one of them. browser_open can open it by itself.`,
  tlsOnly: (at: AskedHost): string =>
    `Without encryption only GET and HEAD to port 80 are passed on, without a password, a cookie or a body. Use https://${at.host} instead.`,
};

/** The message to an agent whose session resumes after the answer. */
export function egressAnswer(hosts: readonly AskedHost[], verdict: EgressVerdict): string {
  const names = english.list(hosts.map((host) => shownHost(host)));
  if (!isAllowing(verdict))
    return `You were interrupted, because a program asked for ${names}. The person said no. Go on without it, or say what is missing.`;
  const how = { once: ' for the next minutes', task: ' for this task', project: ' for this project' }[
    verdict as 'once' | 'task' | 'project'
  ];
  return `You were interrupted, because a program asked for ${names}. The person has allowed it${how}. Look at what is done already, run again what was interrupted, and go on.`;
}
