/**
 * Tools that are offered together. Every chat has the core. The other families are opened by the model, by a word of
 * the person, or by the state of the chat.
 */

interface FamilyFacts {
  /** what its tools do, in a few words for the model; unset for a family that only the state of a chat opens */
  about?: string;
  /** words of a person that open it */
  words?: RegExp;
}

export const FAMILIES = {
  workspaces: {
    about: 'status, hosts of tasks; create, clone, delete; delete folders',
    words:
      /\bclone|\b(?:create|make|new|start|set up|delete|remove) (?:(?:a|an|the|my|new|this|that) ){0,2}(?:workspace|project|repo|repository|folder|directory)\b|\bgit@|\.git\b|\bhosts?\b/i,
  },
  git: {
    about: 'status, diff, log, commit, branches, undo',
    words: /\bgit\b|\bcommit|\bbranch(?:es)?\b|\bdiffs?\b|\bun-?do\b|\bredo\b|\brevert|\btake (?:it|that|this) back\b/i,
  },
  github: {
    about: 'PRs, issues, Actions, push, publish',
    words: /\bgithub\b|\b(?:pull|merge) requests?\b|\bPRs?\b|\bissues?\b|\bpush|\bpublish|\bsync|\bCI\b/i,
  },
  browser: {
    about: 'pages with clicks, screenshots',
    words: /\bscreen ?shots?\b|\bbrowsers?\b|\bclick|\blog ?in to\b|\blocalhost\b/i,
  },
  apps: {
    about: 'tests, servers',
    words:
      /\b(?:run|start|serve|launch|restart|stop) (?:(?:the|my|our|this|dev) ){0,2}(?:apps?|application|server|site|website|service|it)\b|\btests?\b|\blocalhost\b/i,
  },
  routines: {
    about: 'list, run, change, delete workflows and crons',
    words:
      /\b(?:every|each) (?:\w{1,20} )?(?:day|morning|noon|afternoon|evening|night|week|weekday|weekend|month|year|hour|minute|monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?\b|\b(?:hourly|daily|nightly|weekly|monthly|crons?|workflows?|routines?|automations?|remind|reminders?|schedules?|scheduled)\b/i,
  },
  tasks: { about: 'answer, cancel, pause, resume', words: /\btasks?\b/i },
  chats: {
    about: 'other chats, groups; search what was said',
    words:
      /\bgroups?\b|\bchats?\b|\b(?:did|have) (?:i|we|you) (?:ever )?(?:say|said|tell|told|talk|talked|write|written|discuss|mention)|\b(?:i|we|you) (?:said|told|talked|discussed|mentioned)\b|\bmessage to\b/i,
  },
  settings: {
    about: 'preferences, forgetting',
    words:
      /\bpreferences?\b|\bsettings?\b|\bnotif|\bquiet\b|\btime ?zones?\b|\blanguage\b|\bautonom|\bsupervised\b|\bforget\b|\bask me (?:on|by)\b/i,
  },
  skills: {},
} as const satisfies Record<string, FamilyFacts>;

type BuiltInFamily = 'core' | keyof typeof FAMILIES;

/** Families of the owner's own tools: one for each MCP server, and one for their commands. */
type AddedFamily = `mcp_${string}` | 'own_commands';
export type Family = BuiltInFamily | AddedFamily;

/** What the records say of a chat, as far as it opens families. */
export interface ChatSituation {
  /** the repository of the active workspace is on the GitHub server */
  onGitHub: boolean;
  /** a coding task has not ended */
  taskOpen: boolean;
  /** the owner has skills */
  skills: boolean;
}

/** Characters of a message in which words are looked for. What follows is rarely the wish itself. */
const SEARCHED = 2_000;

/** Names of families of the owner's tools, each with the words that open it. */
export type AddedFamilies = ReadonlyMap<Family, readonly string[]>;

/** The families that the words of a person and the state of their chat open. */
export function openedBy(
  said: readonly string[],
  situation: ChatSituation,
  added: AddedFamilies = new Map(),
): Family[] {
  const words = said.map((text) => text.slice(0, SEARCHED)).join('\n');
  const names = new Set(words.toLowerCase().split(/[^a-z0-9_-]+/));
  const named = [...added].flatMap(([family, own]) =>
    own.some((name) => names.has(name.toLowerCase())) ? [family] : [],
  );
  return [
    ...(situation.skills ? ['skills' as const] : []),
    ...(situation.taskOpen ? ['tasks' as const] : []),
    ...(situation.onGitHub ? ['github' as const, 'git' as const] : []),
    ...Object.entries<FamilyFacts>(FAMILIES).flatMap(([name, facts]) =>
      facts.words?.test(words) ? [name as BuiltInFamily] : [],
    ),
    ...named,
  ];
}

/**
 * Adds families that are opened now behind those that were opened before, so that what a provider has cached stays the
 * beginning of the request.
 */
export const withOpened = (before: readonly Family[], now: readonly Family[]): Family[] =>
  [...new Set([...before, ...now])].filter((name) => name !== 'core');

/**
 * Kinds of items for tool calls, as clients of the runtime API know them: they show commands and file changes
 * differently.
 */
export type CallItemKind = 'tool_call' | 'file_change' | 'command_execution';
