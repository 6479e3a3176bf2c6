import { spawn } from 'node:child_process';
import { childEnvironment } from '../../../config.ts';
import { UserError } from '../../../contracts/user-error.ts';

interface GitOptions {
  input?: Buffer;
  env?: Record<string, string>;
  onOut?: (text: string) => void;
}

/** git in a repository of the person, with their own settings. `out`: whole, unless `onOut` takes it. */
export function ownGit(folder: string, args: readonly string[], options: GitOptions = {}): Promise<Ended> {
  const { input, env, onOut } = options;
  return new Promise((resolve, reject) => {
    const child = spawn('git', ['-C', folder, ...args], { env: { ...childEnvironment({}), LC_ALL: 'C', ...env } });
    const [out, errors]: [Buffer[], Buffer[]] = [[], []];
    child.stdout.on('data', (piece: Buffer) => (onOut ? onOut(piece.toString('utf8')) : void out.push(piece)));
    child.stderr.on('data', (piece: Buffer) => void errors.push(piece));
    child.on('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'ENOENT' ? new UserError('git is not installed on this machine.') : error),
    );
    child.on('close', (code) =>
      resolve({ ok: code === 0, out: Buffer.concat(out), said: Buffer.concat(errors).toString('utf8').trim() }),
    );
    // git may end before it has read all
    child.stdin.on('error', () => {}).end(input);
  });
}

interface Ended {
  ok: boolean;
  out: Buffer;
  said: string;
}

/** Its output as one text. @throws UserError */
export async function gitText(folder: string, args: readonly string[], options?: GitOptions): Promise<string> {
  const { ok, out, said } = await ownGit(folder, args, options);
  if (!ok) throw new UserError(`git ${args[0]} failed: ${said.slice(-500)}`);
  return out.toString('utf8').trim();
}

/** The folder of a repository. @throws UserError */
export async function rootOf(folder: string): Promise<string> {
  const { ok, out } = await ownGit(folder, ['rev-parse', '--show-toplevel']);
  if (!ok) throw new UserError(`${folder} is in no git repository. Make it one: git init, git add -A, git commit.`);
  return out.toString('utf8').trim();
}
