import { sayWhole } from '../texts/again.ts';
import { english, type Say } from '../texts/say.ts';

/**
 * The kind of an action in a project: what an owner allows with "always for this project". Most commands are a kind of
 * their own. An action without a kind asks each time, so everything that is not known to be plain has none.
 */
interface ActionKind {
  /** compared letter by letter */
  key: string;
  /** for people: `npm test`, "deleting files in dist" */
  label: string;
}

/** A kind in the project where the action is to be done. */
export interface KindInProject extends ActionKind {
  workspace: string;
  host: string;
}

/** Yes answers in a row after which a kind is offered as a rule. */
export const YES_BEFORE_OFFER = 10;

export const ALWAYS_HERE = 'always for this project';

/** How a question ends whose kind was often allowed. */
export const offerText = (
  { label, workspace }: Pick<KindInProject, 'label' | 'workspace'>,
  say: Say = english,
): string => say('trust.offer', { count: YES_BEFORE_OFFER, what: labelText(label, say), workspace });

/** Whether a question ends so, in any language. */
export const offersRule = (prompt: string): boolean =>
  /["„“«]\s?always for this project\s?["”“»]/.test(prompt.slice(prompt.lastIndexOf('\n') + 1));

/** What the owner is told of a new rule. */
export const ruleText = ({ label, workspace }: Pick<KindInProject, 'label' | 'workspace'>, say: Say): string =>
  say('trust.rule', { what: labelText(label, say), workspace });

/** A label is stored in English. */
export const labelText = (label: string, say: Say): string => sayWhole(label, 'action.', say);

/** A call as its tool declares it. @returns null where it asks each time */
export function kindOf(name: string, args: Record<string, unknown>): ActionKind | null {
  switch (name) {
    case 'shell_run':
      return kindOfCommand(args.command, args.cwd);
    case 'app_run':
      return args.keep === true ? null : kindOfCommand(args.command, '.');
    case 'file_delete':
      return kindOfDeletion(args.path);
    default:
      return null;
  }
}

/** One program with plain words. Quotes, variables, patterns, comments and chains are not plain. */
const PLAIN_COMMAND = /^[\w@%+,:./-]+(?: [\w@%+=,:./-]+){0,30}$/;
const LONGEST_COMMAND = 200;

/** Programs that delete, overwrite, reach others, or hide what they run. */
const NEVER = new Set(
  `rm rmdir unlink shred truncate dd mkfs mv cp ln tee install tar unzip zip rsync chmod chown chgrp chattr setfacl
  sudo su doas bash sh zsh dash ksh fish eval exec source . env export set unset alias xargs parallel nohup timeout time
  watch nice setsid script trap command builtin busybox curl wget nc ncat socat ssh scp sftp ftp telnet mail sendmail
  docker podman kubectl helm terraform ansible aws gcloud az gh kill pkill killall crontab at systemctl service mount
  umount sed awk gawk perl find fd psql mysql sqlite3 mongosh redis-cli dropdb gpg openssl base64 printenv rimraf del-cli trash shx`.split(
    /\s+/,
  ),
);
/** Words behind any program that change what others have, or remove what there is. */
const NEVER_BEHIND =
  /^(?:publish|unpublish|deploy|release|push|login|logout|token|adduser|owner|destroy|drop|purge|prune|reset|clean|uninstall|remove|rm|del|delete|exec|dlx|x|eval|config|set)$/i;
const GIT_READS = new Set(['status', 'diff', 'log', 'show', 'blame', 'ls-files', 'shortlog', 'describe', 'rev-parse']);
/** Text that a program runs, a file that it writes, another program that it starts. */
const NEVER_FLAG =
  /^(?:-[ceprif]|--?(?:eval|print|exec|exec-path|require|import|loader|output|out|out-file|outfile|upload-pack|receive-pack|ext-diff|config|force|delete|hard|no-verify|globalsetup|global-setup|preset|yes)(?:=.*)?|-[A-Za-z]*[OPo]|-O.*)$/i;
/** Programs that only read the files that they are given, so any file of the project is the same kind. */
const READERS = new Set(
  'vitest jest mocha ava pytest tsc eslint stylelint ruff mypy flake8 shellcheck cat head tail wc ls stat file diff cmp grep rg'.split(
    ' ',
  ),
);
const RUNNERS = new Set(['npx', 'bunx']);

function kindOfCommand(command: unknown, cwd: unknown): ActionKind | null {
  if (typeof command !== 'string') return null;
  const text = command.trim();
  if (text.length > LONGEST_COMMAND || !PLAIN_COMMAND.test(text)) return null;
  const folder = typeof cwd === 'string' && cwd !== '.' ? cwd : null;
  if (folder !== null && !isInside(folder)) return null;
  const words = text.split(' ');
  const program = words[0]!;
  if (NEVER.has(lastPart(program)) || !words.every(isPlainWord)) return null;
  if (lastPart(program) === 'git' && !GIT_READS.has(words[1] ?? '')) return null;
  const first = RUNNERS.has(program) ? 2 : 1;
  if (first === 2 && NEVER.has(lastPart(words[1] ?? ''))) return null;
  const reads = READERS.has(words[first - 1] ?? '');
  const shown = words.map((word, at) => (reads && at >= first && isFile(word) ? 'FILE' : word));
  const line = shown.filter((word, at) => word !== 'FILE' || shown[at - 1] !== 'FILE').join(' ');
  const shownAs = `\`${line.replaceAll('FILE', '…')}\``;
  return {
    key: `${folder ?? '.'}: ${line}`,
    label: folder === null ? shownAs : english('action.inFolder', { command: shownAs, folder }),
  };
}

/** A word that neither leaves the project nor makes a program do something else. */
const isPlainWord = (word: string, at: number): boolean =>
  isInside(word.slice(word.indexOf('=') + 1)) &&
  !(at > 0 && (NEVER_BEHIND.test(word) || NEVER_FLAG.test(word))) &&
  !isSecret(word);

const isInside = (path: string): boolean => !path.startsWith('/') && !path.split(/[/=:,]/).includes('..');
const isSecret = (path: string): boolean =>
  path.split(/[/=:,]/).some((part) => /^\.(?!\.?$|\/)|secret|credential|passw|\.(?:pem|key|p12|pfx)$|^id_/i.test(part));
const isFile = (word: string): boolean => !word.startsWith('-') && /[./]/.test(word);
const lastPart = (path: string): string => path.slice(path.lastIndexOf('/') + 1).toLowerCase();

/** Files of one folder are one kind; a file at the top is one of its own. Hidden files and keys ask each time. */
function kindOfDeletion(path: unknown): ActionKind | null {
  if (typeof path !== 'string') return null;
  const plain = path.replace(/^\.\//, '');
  if (plain.length > LONGEST_COMMAND || !/^[\w@+/. -]+$/.test(plain) || !isInside(plain) || isSecret(plain))
    return null;
  const cut = plain.lastIndexOf('/');
  const where = cut < 0 ? plain : plain.slice(0, cut);
  return cut < 0
    ? { key: `delete: ${plain}`, label: english('action.deleting', { file: `\`${plain}\`` }) }
    : { key: `delete in: ${where}`, label: english('action.deletingIn', { folder: `\`${where}\`` }) };
}
