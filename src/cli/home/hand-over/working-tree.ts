import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync, utimesSync } from 'node:fs';
import { lstat, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, extname, join, resolve } from 'node:path';
import { HANDED_OVER, type SessionBundle } from '../../../adapters/sessions/bundle.ts';
import { UserError } from '../../../contracts/user-error.ts';
import { visibleLine } from '../../../domain/text/evidence.ts';
import { COMMIT_MARK, SecretScan, secretIn } from '../../../domain/text/secrets.ts';
import { gitText, ownGit } from './own-git.ts';

/** The work of a person in a repository, as git objects: the commits that no remote has, and what is not committed. */

/** Names of files that hold keys, whatever their format. */
const KEY_FILES = /^(?:\.netrc|\.npmrc|\.pypirc|id_(?:rsa|dsa|ecdsa|ed25519)|credentials(?:\.json)?|auth\.json)$/i;
const KEY_ENDINGS = /^\.(?:pem|key|p12|pfx|jks|keystore)$/i;
const ENVIRONMENT = /^\.env(?:$|\.(?!example$|sample$|template$))/i;
const LOOKED_AT = 5 * 1024 * 1024;

interface Snapshot {
  tree: string;
  /** files that git does not know yet and that look like keys */
  leftOut: string[];
}

/** What a commit of everything would have. Neither the index nor a branch changes. */
export async function snapshotOf(root: string): Promise<Snapshot> {
  const listed = await gitText(root, ['ls-files', '--others', '--exclude-standard', '-z']);
  const files = listed.split('\0').filter(Boolean);
  const leftOut: string[] = [];
  for (const file of files) if (await isKey(root, file)) leftOut.push(file);
  const place = mkdtempSync(join(tmpdir(), 'fetch-hand-over-'));
  try {
    const index = resolve(root, await gitText(root, ['rev-parse', '--git-path', 'index']));
    const env = { GIT_INDEX_FILE: join(place, 'index') };
    if (existsSync(index)) {
      copyFileSync(index, env.GIT_INDEX_FILE);
      // git reads a file again that is as new as the index, which a copy must not look newer than
      const { atime, mtimeMs } = statSync(index);
      utimesSync(env.GIT_INDEX_FILE, atime, Math.floor(mtimeMs) / 1000);
    }
    await gitText(root, ['-c', 'advice.addEmbeddedRepo=false', 'add', '--all'], { env });
    const input = Buffer.from(leftOut.map((file) => `${file}\0`).join(''));
    if (leftOut.length > 0) await gitText(root, ['update-index', '--force-remove', '-z', '--stdin'], { env, input });
    return { tree: await gitText(root, ['write-tree'], { env }), leftOut };
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

async function isKey(root: string, file: string): Promise<boolean> {
  const name = basename(file);
  if (KEY_FILES.test(name) || ENVIRONMENT.test(name) || KEY_ENDINGS.test(extname(name))) return true;
  const path = join(root, file);
  const entry = await lstat(path);
  if (!entry.isFile() || entry.size > LOOKED_AT) return false;
  return (await readFile(path, 'utf8')).split('\n').some((line) => secretIn(line) !== null);
}

type Work = Pick<SessionBundle, 'branch' | 'tip' | 'unfinished' | 'needs' | 'remote' | 'work'>;

/** @throws UserError when there is no commit, or when a file that git knows looks like a key */
export async function workIn(root: string): Promise<Work & Pick<Snapshot, 'leftOut'>> {
  const head = await ownGit(root, ['rev-parse', '--verify', '--quiet', 'HEAD']);
  if (!head.ok) throw new UserError('The repository has no commit yet. Make one, and hand over again.');
  const commit = head.out.toString('utf8').trim();
  const { tree, leftOut } = await snapshotOf(root);
  const unfinished = tree !== (await gitText(root, ['rev-parse', `${commit}^{tree}`]));
  const tip = unfinished ? await commitOf(root, tree, commit) : commit;
  await refuseKeys(root, tip);
  const boundary = await gitText(root, ['rev-list', '--boundary', tip, '--not', '--remotes']);
  const commits = boundary.split('\n').filter(Boolean);
  const isKnown = commits.every((each) => each.startsWith('-'));
  return {
    tip,
    unfinished,
    leftOut,
    branch: (await ownGit(root, ['symbolic-ref', '--quiet', '--short', 'HEAD'])).out.toString('utf8').trim() || null,
    remote: await remoteOf(root),
    needs: isKnown ? [tip] : commits.flatMap((each) => (each.startsWith('-') ? [each.slice(1)] : [])),
    work: isKnown ? null : (await bundled(root, tip)).toString('base64'),
  };
}

async function commitOf(root: string, tree: string, parent: string): Promise<string> {
  const named = await ownGit(root, ['var', 'GIT_COMMITTER_IDENT']);
  const nobody = { NAME: 'Nobody', EMAIL: 'nobody@localhost' };
  const env = Object.fromEntries(
    ['AUTHOR', 'COMMITTER'].flatMap((who) => Object.entries(nobody).map(([what, is]) => [`GIT_${who}_${what}`, is])),
  );
  const args = ['commit-tree', tree, '-p', parent, '-m', 'Work in progress'];
  return await gitText(root, ['-c', 'commit.gpgSign=false', ...args], named.ok ? {} : { env });
}

async function bundled(root: string, tip: string): Promise<Buffer> {
  await gitText(root, ['update-ref', HANDED_OVER, tip]);
  try {
    const made = await ownGit(root, ['bundle', 'create', '--quiet', '-', HANDED_OVER, '--not', '--remotes']);
    if (!made.ok) throw new UserError(`git bundle failed: ${made.said.slice(-500)}`);
    return made.out;
  } finally {
    await ownGit(root, ['update-ref', '-d', HANDED_OVER]);
  }
}

async function refuseKeys(root: string, tip: string): Promise<void> {
  const scan = new SecretScan([]);
  const plain = ['-p', '-c', '-U0', '--text', '--no-renames', '--no-color', '--no-ext-diff', '--no-textconv'];
  const shown = await ownGit(root, ['log', `--format=${COMMIT_MARK}%H`, ...plain, tip, '--not', '--remotes'], {
    onOut: (text) => scan.push(text),
  });
  if (!shown.ok) throw new UserError(`git log failed: ${shown.said.slice(-500)}`);
  const findings = scan.end().map(({ file, line, kind }) => `- ${visibleLine(file)}:${line}: ${kind}`);
  if (findings.length > 0)
    throw new UserError(
      `This looks like a key, so nothing was handed over:\n${findings.join('\n')}\nTake it out first.`,
    );
}

/** Where the branch is pushed to, or the first remote, without user and password. */
async function remoteOf(root: string): Promise<string | null> {
  const names = (await gitText(root, ['remote'])).split('\n').filter(Boolean);
  const name = names.includes('origin') ? 'origin' : names[0];
  if (name === undefined) return null;
  const url = await gitText(root, ['remote', 'get-url', name]);
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, (whole, scheme: string) =>
    scheme === 'ssh://' ? whole : scheme,
  );
}
